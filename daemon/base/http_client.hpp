// An HTTP/1.1 client over unix sockets, TCP and TLS: one connection a call, a deadline on every call,
// bounded bodies, and streams that are read piece by piece. Knows nothing of Docker or llama-server.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d::http {

/// File names of PEM files for TLS; empty means the system's trust store and no client certificate.
struct Tls {
  std::string ca, cert, key;
};

struct Endpoint {
  std::string unix_path;  ///< if set, the rest is only for the Host header
  std::string host = "localhost";
  std::uint16_t port = 0;
  std::optional<Tls> tls;

  /// "unix:/path", "unix:///path", "http://host:port", "tcp://host:port", "https://host:port".
  static Result<Endpoint> parse(std::string_view url);
  [[nodiscard]] std::string describe() const;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string target = "/";
  Headers headers;
  std::string body;
  std::string content_type;  ///< sent if not empty
};

struct Response {
  unsigned status = 0;
  Headers headers;
  std::string body;

  /// The first header of that name in any case, or empty.
  [[nodiscard]] std::string header(std::string_view name) const;
};

/// A response whose head has arrived and whose body is still coming.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  [[nodiscard]] virtual const Response& head() const = 0;  ///< body stays empty
  /// Up to buffer.size() body bytes; 0 at a clean end; `protocol` if the connection broke off mid-body,
  /// `cancelled` if the task was cancelled.
  virtual Task<Result<std::size_t>> read_some(std::span<char> buffer) = 0;
  /// Everything that is left, up to `limit` bytes.
  virtual Task<Result<std::string>> read_all(Bytes limit) = 0;
  /// Ends the connection at once; a pending read ends with `cancelled`.
  virtual void close() = 0;
};

class Client {
 public:
  explicit Client(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  /// The whole answer. Codes: unreachable (no connection: cause has the kernel's words), timed_out, protocol.
  Task<Result<Response>> call(Request request, milliseconds deadline, Bytes max_body = 16 * kMiB) const;
  /// The head within `deadline`; the body by the stream, without a deadline of its own.
  Task<Result<std::unique_ptr<ResponseStream>>> open(Request request, milliseconds deadline) const;
  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

 private:
  Endpoint endpoint_;
};

/// Percent-encodes everything but unreserved characters (RFC 3986, 2.3), for a query value or a path segment.
std::string url_encode(std::string_view text);

}  // namespace k3d::http
