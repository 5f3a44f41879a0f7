#include "api/client/control_client.hpp"

#include "api/contract/problem.hpp"

namespace k3d::api {
namespace {

constexpr milliseconds kDeadline{15'000};
constexpr Bytes kMaxRefusal = kMiB;

http::Request with_body(http::Request request, std::string body) {
  if (!body.empty()) request.content_type = "application/json";
  request.body = std::move(body);
  return request;
}

}  // namespace

Error Answer::problem() const {
  return error_from_problem(status, body);
}

http::Request ControlClient::request(std::string method, std::string target) const {
  http::Request out;
  out.method = std::move(method);
  out.target = std::move(target);
  if (!token_.empty()) out.headers.emplace_back("Authorization", "Bearer " + token_.reveal());
  return out;
}

Task<Result<Answer>> ControlClient::send(http::Request request, milliseconds deadline) {
  Result<http::Response> response = co_await http_.call(std::move(request), deadline);
  if (!response) co_return fail(std::move(response).error());
  Answer answer;
  answer.status = response->status;
  answer.body = std::move(response->body);
  co_return answer;
}

Task<Result<Answer>> ControlClient::get(std::string target) {
  return send(request("GET", std::move(target)), kDeadline);
}

Task<Result<Answer>> ControlClient::get(std::string target, milliseconds deadline) {
  return send(request("GET", std::move(target)), deadline);
}

Task<Result<Answer>> ControlClient::post(std::string target, std::string body) {
  return post(std::move(target), std::move(body), kDeadline);
}

Task<Result<Answer>> ControlClient::post(std::string target, std::string body, milliseconds deadline) {
  return send(with_body(request("POST", std::move(target)), std::move(body)), deadline);
}

Task<Result<Answer>> ControlClient::remove(std::string target, std::string body) {
  return send(with_body(request("DELETE", std::move(target)), std::move(body)), kDeadline);
}

Task<Result<StreamAnswer>> ControlClient::open(std::string target, std::string accept) {
  http::Request out = request("GET", std::move(target));
  out.headers.emplace_back("Accept", std::move(accept));
  Result<std::unique_ptr<http::ResponseStream>> stream = co_await http_.open(std::move(out), kDeadline);
  if (!stream) co_return fail(std::move(stream).error());
  StreamAnswer answer;
  answer.refusal.status = (*stream)->head().status;
  if (answer.refusal.ok()) {
    answer.stream = std::move(*stream);
    co_return answer;
  }
  Result<std::string> body = co_await (*stream)->read_all(kMaxRefusal);
  if (body) answer.refusal.body = std::move(*body);
  co_return answer;
}

}  // namespace k3d::api
