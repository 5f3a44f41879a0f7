#include "docker_driver/api.hpp"

#include <algorithm>
#include <charconv>

#include "daemon/base/async/sleep.hpp"

namespace k3d::docker {
namespace {

// 1.41 is Docker 20.10, the oldest Engine that has what k3d asks for; 1.51 the newest one k3d was tried with.
constexpr ApiVersion kOldest{1, 41};
constexpr ApiVersion kNewest{1, 51};
constexpr milliseconds kPingDeadline{5000};
constexpr Bytes kMaxRefusal = 64 * kKiB;

http::Request request_of(const Call& call, const ApiVersion& version) {
  http::Request request;
  request.method = call.method;
  request.target = "/v" + version.text() + call.path;
  if (!call.query.empty()) request.target += "?" + call.query;
  request.body = call.body;
  if (!call.body.empty()) request.content_type = "application/json";
  return request;
}

std::optional<ApiVersion> parse_version(std::string_view text) {
  ApiVersion out;
  const char* const end = text.data() + text.size();
  const auto [dot, major_ec] = std::from_chars(text.data(), end, out.major);
  if (major_ec != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [rest, minor_ec] = std::from_chars(dot + 1, end, out.minor);
  if (minor_ec != std::errc() || rest != end) return std::nullopt;
  return out;
}

/// "client version 1.51 is too new. Maximum supported API version is 1.41": another dockerd answers at the socket.
bool is_wrong_version(const Error& error) {
  return error.code == Code::docker_refused && error.cause.find("client version") != std::string::npos;
}

}  // namespace

Result<ApiVersion> agree_on(std::string_view offered) {
  const std::optional<ApiVersion> theirs = parse_version(offered);
  if (!theirs) {
    return fail(Code::docker_refused, "what answers there doesn't say which Docker API it has", "check docker.host",
                "Api-Version: " + std::string(offered));
  }
  if (*theirs < kOldest) {
    return fail(Code::docker_refused, "Docker's API " + theirs->text() + " is too old, k3d needs " + kOldest.text(),
                "install Docker 20.10 or newer");
  }
  return std::min(*theirs, kNewest);
}

void Api::note(const Error& error) {
  // After a broken connection another dockerd may answer.
  if (is_away(error) || is_wrong_version(error)) version_.reset();
}

Task<Result<http::Response>> Api::exchange(http::Request request, milliseconds deadline) {
  if (!endpoint_) co_return fail(endpoint_.error());
  const http::Client client(*endpoint_);
  Result<http::Response> response = co_await client.call(std::move(request), deadline);
  if (response) co_return response;
  Error error = transport_error(response.error(), endpoint_->describe());
  note(error);
  co_return fail(std::move(error));
}

Task<Result<ApiVersion>> Api::version() {
  if (version_) co_return *version_;
  http::Request ping;
  ping.target = "/_ping";
  const Result<http::Response> pong = co_await exchange(std::move(ping), kPingDeadline);
  if (!pong) co_return fail(pong.error());
  if (pong->status >= 400) co_return fail(refusal(pong->status, pong->body, Subject::engine, {}));
  Result<ApiVersion> agreed = agree_on(pong->header("Api-Version"));
  if (agreed) version_ = *agreed;
  co_return agreed;
}

Task<Result<http::Response>> Api::call_in(Call call, ApiVersion version) {
  http::Request request = request_of(call, version);
  Result<http::Response> response = co_await exchange(std::move(request), call.deadline);
  if (!response || response->status < 400) co_return response;
  Error error = refusal(response->status, response->body, call.subject, call.name);
  note(error);
  co_return fail(std::move(error));
}

Task<Result<Api::Stream>> Api::open_in(Call call, ApiVersion version) {
  const http::Client client(*endpoint_);
  http::Request request = request_of(call, version);
  Result<Stream> stream = co_await client.open(std::move(request), call.deadline);
  if (!stream) {
    Error error = transport_error(stream.error(), endpoint_->describe());
    note(error);
    co_return fail(std::move(error));
  }
  const unsigned status = (*stream)->head().status;
  if (status < 400) co_return stream;
  auto rest = (*stream)->read_all(kMaxRefusal);
  const Result<std::string> body = co_await with_deadline<std::string>(std::move(rest), call.deadline, "the refusal");
  Error error = refusal(status, body ? *body : std::string(), call.subject, call.name);
  note(error);
  co_return fail(std::move(error));
}

template <class T>
Task<Result<T>> Api::in_agreed_version(Attempt<T> attempt, Call call) {
  const Result<ApiVersion> first = co_await version();
  if (!first) co_return fail(first.error());
  Result<T> answer = co_await (this->*attempt)(call, *first);
  if (answer || !is_wrong_version(answer.error())) co_return answer;
  // Another Engine answers than the one that was asked. Nothing was done yet: once more, in its version.
  const Result<ApiVersion> second = co_await version();
  if (!second) co_return fail(second.error());
  if (*second == *first) co_return answer;
  co_return co_await (this->*attempt)(std::move(call), *second);
}

Task<Result<http::Response>> Api::call(Call call) {
  return in_agreed_version<http::Response>(&Api::call_in, std::move(call));
}

Task<Result<Api::Stream>> Api::open(Call call) {
  return in_agreed_version<Stream>(&Api::open_in, std::move(call));
}

}  // namespace k3d::docker
