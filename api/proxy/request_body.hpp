// The body of a client's request, decoded from its framing piece by piece with bounded memory.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "api/http/chunked.hpp"
#include "api/http/request_head.hpp"
#include "api/proxy/worker.hpp"
#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d::proxy {

class RequestBody {
 public:
  /// `pending` holds what was read after the head, and keeps what comes after the body.
  RequestBody(asio::ip::tcp::socket& socket, Worker::Watch& watch, std::string& pending, const api::RequestHead& head,
              Bytes limit, milliseconds patience);

  /// The next payload bytes; empty at the end. Errors: body_too_large; invalid_request for broken framing;
  /// unreachable when the client is gone, or drips so slowly that it might as well be.
  Task<Result<std::string>> next();
  [[nodiscard]] bool done() const { return done_; }

 private:
  Result<std::string> decode();

  asio::ip::tcp::socket& socket_;
  Worker::Watch& watch_;
  std::string& pending_;
  bool chunked_;
  std::uint64_t left_;
  Bytes limit_;
  Bytes received_ = 0;
  milliseconds patience_;  ///< left; grows by a second for every KiB that comes
  bool done_;
  api::ChunkScanner scanner_;
};

/// `payload` as one chunk.
std::string as_chunk(const std::string& payload);
inline constexpr const char* kLastChunk = "0\r\n\r\n";

}  // namespace k3d::proxy
