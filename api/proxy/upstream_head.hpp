// Pure: the engine's response head, read strictly, and both heads as they go on. Framing fields are never copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/request_head.hpp"
#include "daemon/base/result.hpp"
#include "daemon/model/launch.hpp"

namespace k3d::proxy {

enum class BodyKind { none, counted, chunked, until_close };

struct UpstreamHead {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> fields;
  BodyKind body = BodyKind::none;
  std::optional<std::uint64_t> length;  ///< of a counted body, or of the one that a HEAD or 304 answer is about
  bool keep_alive = true;               ///< the connection can be used again
  bool event_stream = false;
};

/// `raw` ends with the empty line. Fails with upstream_failed on anything ambiguous: two lengths, length and chunks,
/// other codings, folded lines, control bytes.
Result<UpstreamHead> parse_upstream_head(std::string_view raw, bool head_request);

struct Client {
  std::string address;
  int minor_version = 1;
  bool keep_alive = true;
  std::string allowed_origin;  ///< the request's Origin if it is one of proxy.cors_origins, else empty
};

/// The request as the engine sees it: hop-by-hop and forwarding fields replaced, credentials, cookies and Origin
/// dropped.
std::string upstream_request(const api::RequestHead& head, const EngineAddress& engine, const Client& client);

/// How the body goes to the client.
enum class Delivery { none, counted, chunked, close };
Delivery delivery_of(const UpstreamHead& head, const Client& client);

/// The response head as the client sees it: hop-by-hop fields replaced, the engine's CORS fields dropped.
std::string client_response(const UpstreamHead& head, Delivery delivery, const Client& client, bool keep_alive);

}  // namespace k3d::proxy
