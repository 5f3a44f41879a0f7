#include "daemon/engine/glued_lines.hpp"

#include <algorithm>

#include "daemon/engine/failure_signs.hpp"

namespace k3d::engine {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

/// Where a second line that bears a time stamp and a level begins.
std::size_t stamped_at(std::string_view line) {
  for (std::size_t at = line.find('.', 1); at != kNowhere; at = line.find('.', at + 1)) {
    const std::size_t begin = line.find_last_not_of("0123456789", at - 1) + 1;
    if (begin == 0 || begin == at) continue;  // the line's own, or no number
    const std::size_t stamp = stamp_length(line.substr(begin));
    if (stamp > 0 && read_engine_line(line.substr(begin)).level != LineLevel::bare) return begin;
  }
  return kNowhere;
}

/// Where the reason of an abort begins, if something stands before it: a source file and a number, then `word`.
std::size_t abort_at(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != kNowhere; at = line.find(word, at + 1)) {
    const std::size_t begin = line.substr(0, at).find_last_of(' ') + 1;
    if (begin > 0 && is_abort(EngineLine{LineLevel::bare, {}, std::string(line.substr(begin))})) return begin;
  }
  return kNowhere;
}

/// Whether a sign stands for itself in the middle of a line of this level. What arguments are refused with comes
/// before anyone else writes, and its words are too common.
bool stands_alone(const FailureSign& sign, LineLevel level) {
  if (sign.pattern.starts_with("error") || sign.pattern.find('*') != kNowhere || sign.pattern.empty()) return false;
  if (sign.lines == Lines::bare) return true;
  // Of a bare line or an error it is found anywhere.
  return sign.lines == Lines::error_or_bare && level != LineLevel::bare && level != LineLevel::error;
}

/// Where words begin that come without a prefix: of a library, of the C++ runtime.
std::size_t words_at(std::string_view line, LineLevel level) {
  std::size_t first = kNowhere;
  for (const FailureSign& sign : failure_signs()) {
    if (stands_alone(sign, level)) first = std::min(first, line.find(sign.pattern, 1));
  }
  return first;
}

std::size_t second_line(std::string_view line, bool ready) {
  const std::size_t assertion = abort_at(line, ": GGML_ASSERT(");
  if (ready) return assertion;
  const LineLevel level = read_engine_line(line).level;
  const std::size_t at = std::min({assertion, stamped_at(line), words_at(line, level)});
  // An error is told whole: a place in the source may be a part of it.
  return level == LineLevel::error ? at : std::min(at, abort_at(line, ": "));
}

}  // namespace

std::vector<std::string> unglued(const std::vector<std::string>& raw, bool ready) {
  std::vector<std::string> lines;
  lines.reserve(raw.size());
  for (std::string_view rest : raw) {
    for (std::size_t at = second_line(rest, ready); at != kNowhere; at = second_line(rest, ready)) {
      lines.emplace_back(rest.substr(0, at));
      rest.remove_prefix(at);
    }
    lines.emplace_back(rest);
  }
  return lines;
}

}  // namespace k3d::engine
