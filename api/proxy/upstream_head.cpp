#include "api/proxy/upstream_head.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/http/field_syntax.hpp"

namespace k3d::proxy {
namespace {

constexpr std::array<std::string_view, 10> kHopByHop{
    "connection",     "keep-alive",         "proxy-connection", "te", "trailer", "upgrade", "transfer-encoding",
    "content-length", "proxy-authenticate", "http2-settings"};
constexpr std::array<std::string_view, 9> kNotForwarded{"host",      "expect",    "authorization",
                                                        "x-api-key", "cookie",    "proxy-authorization",
                                                        "origin",    "forwarded", "x-real-ip"};

template <class List>
bool among(const List& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// The values of every Connection field as one list.
std::string connection_list(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string list;
  for (const auto& [name, value] : fields) {
    if (api::lower_case(name) == "connection") list += value + ",";
  }
  return list;
}

/// Whether `name` (in lower case) stays on its hop: by its meaning, or because the Connection list names it.
bool of_the_hop(const std::string& connection, const std::string& name) {
  return among(kHopByHop, name) || api::list_has(connection, name);
}

std::unexpected<Error> ambiguous(const std::string& what) {
  return fail(Code::upstream_failed, "the engine's answer is malformed: " + what);
}

Result<std::pair<std::string, std::string>> parse_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !api::is_token(line.substr(0, colon)))
    return ambiguous("a field without a name");
  const std::string_view value = api::trim_blanks(line.substr(colon + 1));
  if (api::has_control_byte(value)) return ambiguous("a control byte in a field");
  return std::pair{std::string(line.substr(0, colon)), std::string(value)};
}

Result<unsigned> parse_status(std::string_view line) {
  unsigned status = 0;
  const bool known = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  if (!known || line.size() < 12) return ambiguous("no status line");
  const auto [end, ec] = std::from_chars(line.data() + 9, line.data() + 12, status);
  if (ec != std::errc() || end != line.data() + 12 || status < 100 || status > 599) return ambiguous("no status code");
  return status;
}

/// Content-Length and Transfer-Encoding into the kind of body; anything that two readers could read differently fails.
Status decide_body(UpstreamHead& head, bool head_request, bool http_1_0) {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  for (const auto& [name, value] : head.fields) {
    const std::string key = api::lower_case(name);
    if (key == "content-length") {
      std::uint64_t number = 0;
      const auto [end, ec] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (length || value.empty() || value.size() > 19 || ec != std::errc() || end != value.data() + value.size()) {
        return ambiguous("its Content-Length");
      }
      length = number;
    }
    if (key == "transfer-encoding") {
      if (chunked || api::lower_case(value) != "chunked") return ambiguous("its Transfer-Encoding");
      chunked = true;
    }
  }
  if (chunked && length) return ambiguous("Content-Length beside Transfer-Encoding");
  if (head_request || head.status == 204 || head.status == 304 || head.status < 200) {
    head.body = BodyKind::none;
    // Whoever announces a body where there can't be one may send it all the same.
    if (!head_request && (chunked || length.value_or(0) > 0)) head.keep_alive = false;
  } else if (chunked) {
    head.body = BodyKind::chunked;
  } else if (length) {
    head.body = *length == 0 ? BodyKind::none : BodyKind::counted;
  } else {
    head.body = BodyKind::until_close;
    head.keep_alive = false;
  }
  head.length = length;
  if (http_1_0) head.keep_alive = false;
  return {};
}

}  // namespace

Result<UpstreamHead> parse_upstream_head(std::string_view raw, bool head_request) {
  UpstreamHead head;
  std::size_t begin = 0;
  bool first = true;
  bool http_1_0 = false;
  while (begin + 2 < raw.size()) {
    const std::size_t end = raw.find("\r\n", begin);
    const std::string_view line = raw.substr(begin, end - begin);
    begin = end + 2;
    if (first) {
      const Result<unsigned> status = parse_status(line);
      if (!status) return fail(status.error());
      head.status = *status;
      http_1_0 = line.starts_with("HTTP/1.0");
      first = false;
      continue;
    }
    auto field = parse_field(line);
    if (!field) return fail(field.error());
    const std::string key = api::lower_case(field->first);
    if (key == "connection" && api::list_has(field->second, "close")) head.keep_alive = false;
    if (key == "content-type" && api::lower_case(field->second).starts_with("text/event-stream"))
      head.event_stream = true;
    head.fields.push_back(std::move(*field));
  }
  if (first) return ambiguous("no status line");
  if (Status ok = decide_body(head, head_request, http_1_0); !ok) return fail(ok.error());
  return head;
}

std::string upstream_request(const api::RequestHead& head, const EngineAddress& engine, const Client& client) {
  const std::string connection = connection_list(head.fields);
  std::string out = head.method + " " + head.target + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto& [name, value] : head.fields) {
    const std::string key = api::lower_case(name);
    if (among(kNotForwarded, key) || key.starts_with("x-forwarded-") || of_the_hop(connection, key)) continue;
    out += name + ": " + value + "\r\n";
  }
  out += "X-Forwarded-For: " + client.address + "\r\nX-Forwarded-Proto: http\r\n";
  if (!head.field("Host").empty()) out += "X-Forwarded-Host: " + std::string(head.field("Host")) + "\r\n";
  if (!engine.api_key.empty()) out += "Authorization: Bearer " + engine.api_key + "\r\n";
  if (head.chunked) out += "Transfer-Encoding: chunked\r\n";
  if (head.content_length) out += "Content-Length: " + std::to_string(*head.content_length) + "\r\n";
  return out + "Connection: keep-alive\r\n\r\n";
}

Delivery delivery_of(const UpstreamHead& head, const Client& client) {
  switch (head.body) {
    case BodyKind::none:
      return Delivery::none;
    case BodyKind::counted:
      return Delivery::counted;
    case BodyKind::chunked:
    case BodyKind::until_close:
      return client.minor_version == 0 ? Delivery::close : Delivery::chunked;
  }
  return Delivery::close;
}

std::string client_response(const UpstreamHead& head, Delivery delivery, const Client& client, bool keep_alive) {
  const std::string connection = connection_list(head.fields);
  std::string out = "HTTP/1.1 " + std::to_string(head.status) + " \r\n";
  for (const auto& [name, value] : head.fields) {
    const std::string key = api::lower_case(name);
    if (key.starts_with("access-control-") || of_the_hop(connection, key)) continue;
    if (head.event_stream && (key == "cache-control" || key == "x-accel-buffering")) continue;
    out += name + ": " + value + "\r\n";
  }
  if (!client.allowed_origin.empty()) {
    out += "Access-Control-Allow-Origin: " + client.allowed_origin + "\r\nVary: Origin\r\n";
  }
  // Buffering proxies in front (nginx, and what follows it) would hold a stream's tokens back.
  if (head.event_stream) out += "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
  if (delivery == Delivery::chunked) out += "Transfer-Encoding: chunked\r\n";
  const bool counted = delivery == Delivery::counted || delivery == Delivery::none;
  if (counted && head.length && head.status != 204) out += "Content-Length: " + std::to_string(*head.length) + "\r\n";
  return out + (keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}

}  // namespace k3d::proxy
