#include "docker_driver/log_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace k3d::docker {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
// By how much the stamps of the two outputs may be out of order: the time between a stamp and its write.
constexpr std::int64_t kOverlap = kNanosPerSecond / 10;
// More lines than a file of 10 MB has, but for very short ones; 1 MiB.
constexpr std::size_t kKnown = 131'072;

std::optional<std::int64_t> nanos_of(const std::string& stamp) {
  const Result<WallTime> time = parse_time(stamp);
  if (!time) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time->time_since_epoch()).count();
}

}  // namespace

LogCursor::LogCursor(const std::string& since, bool tailed) : tailed_(tailed) {
  const std::optional<Nanos> stamp = nanos_of(since);
  if (!stamp) return;
  for (Position& position : positions_) {
    position.stamp = *stamp;
    position.seen = std::numeric_limits<std::uint64_t>::max();
    position.replaying = true;
  }
}

bool LogCursor::is_repeat(Position& position, Nanos stamp) const {
  if (stamp < position.stamp || stamp < floor_) return true;
  if (stamp > position.stamp || position.again == position.seen) return false;
  ++position.again;
  return true;
}

bool LogCursor::is_sent_twice(Position& position, Nanos stamp, std::size_t text) {
  if (stamp == position.stamp) return text == position.text;
  if (stamp > position.stamp) return false;
  if (std::binary_search(position.known.begin(), position.known.end(), stamp)) return true;
  position.known.clear();
  return false;
}

bool LogCursor::admit(const LogLine& line) {
  const std::optional<Nanos> stamp = nanos_of(line.stamp);
  if (!stamp) return true;
  Position& position = positions_[line.is_stderr ? 1 : 0];
  if (position.replaying && is_repeat(position, *stamp)) return false;
  // From here on everything is new, also after a step back of the clock.
  position.replaying = false;
  const std::size_t text = std::hash<std::string>{}(line.text);
  if (is_sent_twice(position, *stamp, text)) return false;
  position.text = text;
  if (position.known.empty() || position.known.back() != *stamp) position.known.push_back(*stamp);
  if (position.known.size() > kKnown) position.known.pop_front();
  position.seen = *stamp == position.stamp ? position.seen + 1 : 1;
  position.stamp = *stamp;
  if (first_ == kNone) first_ = *stamp;
  return true;
}

void LogCursor::reopened(const std::optional<std::string>& pending) {
  if (tailed_) floor_ = first_;
  pending_ = pending ? nanos_of(*pending).value_or(kNone) : kNone;
  for (Position& position : positions_) {
    position.again = 0;
    position.replaying = true;
  }
}

std::optional<std::string> LogCursor::since() const {
  Nanos from = std::max(positions_[0].stamp, positions_[1].stamp);
  if (from == kNone) return std::nullopt;
  if (has_seen_lines()) from -= kOverlap;
  if (pending_ != kNone) from = std::min(from, pending_);
  from = std::max<Nanos>(from, 0);
  return fmt::format("{}.{:09}", from / kNanosPerSecond, from % kNanosPerSecond);
}

}  // namespace k3d::docker
