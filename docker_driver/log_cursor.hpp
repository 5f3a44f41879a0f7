// Where a log was read up to, so that it can be read on without a gap and without a repeat. Pure.
//
// Docker's `since` is inclusive and several lines may share a stamp, so lines at the last stamp are counted and that
// many are skipped. Stamps rise within an output but not always across the two (each is stamped before it is
// written), so each output has a position of its own and a resumed log is asked for from a little earlier.
//
// Also while the connection holds, Docker 20.10 sends lines twice: the last one when the log is rotated, and a whole
// file when that happens under a reader that is behind. Those stamps are known; those of a clock that was set back
// are new.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "daemon/ports/containers.hpp"

namespace k3d::docker {

class LogCursor {
 public:
  LogCursor() = default;
  /// Only lines after `since`, a stamp; empty: all. A text that is no stamp counts as empty.
  /// `tailed`: the log was asked for from some line on, and nothing from before that line may come later.
  explicit LogCursor(const std::string& since, bool tailed = false);

  /// Notes `line`; false if it was seen before.
  bool admit(const LogLine& line);
  /// The log will be read again; `pending` is the stamp of a line that was cut off.
  void reopened(const std::optional<std::string>& pending);
  /// The value for `since`: seconds and nanoseconds since 1970, "1796081770.254948980"; nothing: from the beginning.
  [[nodiscard]] std::optional<std::string> since() const;
  [[nodiscard]] bool has_seen_lines() const { return first_ != kNone; }

 private:
  using Nanos = std::int64_t;
  static constexpr Nanos kNone = -1;

  struct Position {
    Nanos stamp = kNone;
    std::uint64_t seen = 0;   ///< lines at `stamp` so far
    std::uint64_t again = 0;  ///< of them, met once more in this reading
    bool replaying = false;   ///< what comes may have been seen
    std::deque<Nanos> known;  ///< stamps of the last lines, rising
    std::size_t text = 0;     ///< hash of the last line
  };

  bool is_repeat(Position& position, Nanos stamp) const;
  static bool is_sent_twice(Position& position, Nanos stamp, std::size_t text);

  std::array<Position, 2> positions_;
  bool tailed_ = false;
  Nanos first_ = kNone;  ///< of the first line admitted
  Nanos floor_ = kNone;  ///< lines from before it were left out by the tail
  Nanos pending_ = kNone;
};

}  // namespace k3d::docker
