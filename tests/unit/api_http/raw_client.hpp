// A client of raw bytes for the HTTP tests: says exactly what it is told, and reads answers without mending them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace k3d::test {

using std::chrono::milliseconds;

struct Reply {
  int status = 0;
  std::string head;       ///< with its empty line
  std::string body;       ///< without its framing
  bool complete = false;  ///< the body ended as its framing says, not by the connection breaking off

  /// The value of the first field of that name in any case, or empty.
  [[nodiscard]] std::string field(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
};

enum class End { open, closed, reset };

class RawClient {
 public:
  static RawClient tcp(std::uint16_t port, int receive_buffer = 0);
  static RawClient local(const std::string& path);
  RawClient(RawClient&& other) noexcept;
  RawClient& operator=(RawClient&& other) noexcept;
  ~RawClient();

  /// Sends all of it, or until the other side is gone.
  bool send(std::string_view bytes);
  /// The next answer (an interim one too); bytes after it are kept. `head_request`: it has no body.
  Reply reply(bool head_request = false, milliseconds limit = milliseconds(8000));
  /// Whatever comes next, kept bytes first; empty at the end or after `limit`.
  std::string some(milliseconds limit = milliseconds(8000));
  /// Everything until the end.
  std::string all(milliseconds limit = milliseconds(8000));
  /// How the connection ends within `limit`; what comes before is dropped.
  End end(milliseconds limit = milliseconds(8000));

  void half_close();
  void reset();  ///< RST instead of FIN
  void close();

 private:
  explicit RawClient(int fd) : fd_(fd) {}
  /// One read; false at the end, a reset or the deadline.
  bool fill(std::chrono::steady_clock::time_point deadline);
  bool read_chunked(Reply& reply, std::chrono::steady_clock::time_point deadline);

  int fd_;
  std::string kept_;
  End end_ = End::open;
};

/// "METHOD TARGET HTTP/1.1" with a Host, the given further lines (each with CR LF) and a body with its length.
std::string request(std::string_view method, std::string_view target, std::string_view body = {},
                    std::string_view lines = {});

/// Polls until `holds` does; false after `limit`.
bool eventually(const std::function<bool()>& holds, milliseconds limit = milliseconds(8000));

}  // namespace k3d::test
