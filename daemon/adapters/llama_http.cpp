#include "daemon/adapters/llama_http.hpp"

#include "daemon/base/http_client.hpp"
#include "daemon/base/json.hpp"

namespace k3d::adapters {
namespace {

constexpr milliseconds kHealthDeadline{3000};
constexpr Bytes kMaxAnswer = kMiB;
constexpr std::size_t kMaxWords = 500;

http::Client client_of(const EngineAddress& address) {
  http::Endpoint endpoint;
  endpoint.unix_path = address.unix_path;
  if (address.unix_path.empty()) {
    endpoint.host = "127.0.0.1";
    endpoint.port = address.port;
  }
  return http::Client(std::move(endpoint));
}

http::Request request_to(const EngineAddress& address, std::string method, std::string target) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  if (!address.api_key.empty()) request.headers.emplace_back("Authorization", "Bearer " + address.api_key);
  return request;
}

/// {"error": {"message": …}}, or the body as it is.
std::string words_of(const http::Response& response) {
  const Result<Json> body = parse_json(response.body);
  if (body) {
    if (const auto message = json_string(json_member(*body, "error"), "message")) return message->substr(0, kMaxWords);
  }
  return response.body.substr(0, kMaxWords);
}

Error unexpected(const http::Response& response, const std::string& asked) {
  return {Code::upstream_failed,
          "the engine answered " + asked + " with status " + std::to_string(response.status),
          {},
          words_of(response)};
}

class LlamaHttp : public EngineClient {
 public:
  Task<Result<Health>> health(EngineAddress address) override {
    const http::Client client = client_of(address);
    http::Request request = request_to(address, "GET", "/health");
    const Result<http::Response> answer = co_await client.call(std::move(request), kHealthDeadline, kMaxAnswer);
    if (!answer) {
      if (answer.error().code == Code::unreachable) co_return Health::refused;
      co_return fail(answer.error());
    }
    if (answer->status == 503) co_return Health::loading;
    if (answer->status == 200) co_return Health::ok;
    co_return fail(unexpected(*answer, "/health"));
  }

  Task<Status> probe(EngineAddress address, seconds limit) override {
    const http::Client client = client_of(address);
    http::Request request = request_to(address, "POST", "/completion");
    request.content_type = "application/json";
    request.body = R"({"prompt":"1 2 3","n_predict":1,"stream":false,"cache_prompt":false})";
    const Result<http::Response> answer = co_await client.call(std::move(request), limit, kMaxAnswer);
    if (!answer) co_return fail(answer.error());
    if (answer->status == 503)
      co_return fail(Code::model_loading, "the engine is loading its model", {}, words_of(*answer));
    if (answer->status != 200) co_return fail(unexpected(*answer, "a completion of one token"));
    co_return Status{};
  }
};

}  // namespace

std::unique_ptr<EngineClient> llama_http() {
  return std::make_unique<LlamaHttp>();
}

}  // namespace k3d::adapters
