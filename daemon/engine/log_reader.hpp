// llama-server's log as lines: bytes to bounded lines, lines to level and text. Pure. What a line means for the
// engine's life is decided by HTTP and the exit code; a line is only a hint and evidence (daemon/engine/failures).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace k3d::engine {

enum class LineLevel {
  bare,  ///< without llama-server's prefix: an abort, a message of the shell, or the rest of a longer message
  debug,
  info,
  warning,
  error,
};

struct EngineLine {
  LineLevel level = LineLevel::bare;
  std::string component;  ///< "srv", "cmn", "slot", …; empty if the line names none
  std::string text;       ///< printable, without prefix and component
};

/// Cuts a stream of bytes into lines of at most `limit` bytes; the rest of a longer one is dropped.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t limit = 64 * 1024) : limit_(limit) {}
  /// The lines that `bytes` ends, without their newline.
  std::vector<std::string> feed(std::string_view bytes);
  /// What is left without a newline, if anything.
  std::optional<std::string> finish();

 private:
  std::size_t limit_;
  std::string open_;
};

/// `text` without ANSI escapes; other control characters and bytes that aren't UTF-8 become U+FFFD, a tab a space.
std::string printable(std::string_view text);

/// Length of the time stamp "M.SS.mmm.uuu " at the beginning, or 0.
std::size_t stamp_length(std::string_view text);

/// A line as it stands in the log, raw or printable.
EngineLine read_engine_line(std::string_view line);

}  // namespace k3d::engine
