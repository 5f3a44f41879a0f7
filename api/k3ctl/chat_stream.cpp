#include "api/k3ctl/chat_stream.hpp"

#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

constexpr std::size_t kQuoted = 200;

std::optional<double> number_of(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  if (!member.is_number()) return std::nullopt;
  return member.get<double>();
}

std::string error_of(const Json& body) {
  const Json& error = json_member(body, "error");
  if (error.is_string()) return error.get<std::string>();
  std::string out = json_text(error, "message");
  if (const auto code = json_string(error, "code")) out += (out.empty() ? "" : " [") + *code + (out.empty() ? "" : "]");
  return out;
}

std::string host_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1" || host == "[::1]";
}

bool is_any(const std::string& host) {
  return host == "0.0.0.0" || host == "[::]" || host == "::";
}

}  // namespace

ChatDelta chat_delta(std::string_view data) {
  ChatDelta out;
  out.finished = data == "[DONE]";
  if (out.finished) return out;
  const Result<Json> event = parse_json(data);
  if (!event) return out;
  if (json_member(*event, "error").is_object()) {
    out.error = error_of(*event);
    if (out.error.empty()) out.error = "the engine reported an error without words";
  }
  const Json& timings = json_member(*event, "timings");
  out.tokens = number_of(timings, "predicted_n");
  out.tokens_per_second = number_of(timings, "predicted_per_second");
  const Json& choices = json_member(*event, "choices");
  if (!choices.is_array() || choices.empty()) return out;
  const Json& delta = json_member(choices.front(), "delta");
  out.thought = json_text(delta, "reasoning_content");
  out.text = json_text(delta, "content");
  out.finished = json_string(choices.front(), "finish_reason").has_value();
  return out;
}

std::string chat_error(unsigned status, std::string_view body) {
  const Result<Json> parsed = parse_json(body);
  std::string said = parsed ? error_of(*parsed) : std::string();
  if (said.empty()) said = "HTTP " + std::to_string(status) + ": " + std::string(body.substr(0, kQuoted));
  return said;
}

std::optional<std::string> proxy_url(const std::vector<std::string>& listen, const std::string& daemon_host) {
  const bool here = daemon_host.empty() || is_loopback(daemon_host);
  for (const std::string& address : listen) {
    const std::string host = host_of(address);
    const std::string port = address.substr(host.size());
    if (is_any(host)) return "http://" + (here ? std::string("127.0.0.1") : daemon_host) + port;
    if (here ? is_loopback(host) : host == daemon_host || host == "[" + daemon_host + "]") return "http://" + address;
  }
  if (here && !listen.empty()) return "http://" + listen.front();
  return std::nullopt;
}

}  // namespace k3d::cli
