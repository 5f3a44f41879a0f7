// From the bytes of Docker's log answer to lines: frames, streams, stamps, and a bound on everything. Pure.
// Expects a log asked for with timestamps=1. Knows nothing of connections or of what was seen before.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ports/containers.hpp"

namespace k3d::docker {

/// multiplexed: 8-byte headers {stream, 0, 0, 0, length as big-endian u32} before each piece. raw: a tty's bytes.
enum class Framing { multiplexed, raw };

class LogDemux {
 public:
  static constexpr std::size_t kMaxLine = 64 * 1024;
  static constexpr std::uint32_t kMaxFrame = 16 * 1024 * 1024;

  explicit LogDemux(Framing framing) : framing_(framing) {}

  /// Adds the lines that `bytes` complete. Fails with `protocol` on a header that can't be true; the demux is then of
  /// no more use, the log must be opened anew.
  Status feed(std::string_view bytes, std::vector<LogLine>& lines);
  /// The log is at its end: lines that never got their newline.
  void finish(std::vector<LogLine>& lines);
  /// The stamp of the oldest piece that is still part of no line: a resumed log must begin there.
  [[nodiscard]] std::optional<std::string> oldest_pending() const;

 private:
  /// One of the container's two outputs.
  struct Output {
    LogLine line;
    bool open = false;        ///< the line has begun
    std::string first_stamp;  ///< of the line's first piece
    std::string head;         ///< the beginning of a piece, until its stamp is known
    bool in_head = false;
  };

  Status read_header(std::string_view& bytes);
  void begin_piece(Output& output);
  void add(Output& output, std::string_view payload, std::vector<LogLine>& lines);
  void settle_head(Output& output, std::vector<LogLine>& lines);
  void add_text(Output& output, std::string_view text, std::vector<LogLine>& lines);
  void end_line(Output& output, std::vector<LogLine>& lines);

  Framing framing_;
  std::array<Output, 2> outputs_;  ///< stdout, stderr
  std::string header_;
  std::uint32_t left_ = 0;  ///< bytes of the current frame still to come
  std::size_t current_ = 0;
};

}  // namespace k3d::docker
