#include "daemon/engine/excerpt.hpp"

#include <algorithm>

#include "daemon/engine/failure_signs.hpp"

namespace k3d::engine {
namespace {

constexpr std::size_t kExcerptLines = 20;
constexpr std::size_t kExcerptBytes = 500;  ///< of one line

/// "/usr/local/bin/llama-server(+0x18f0a4b)[0x55c0d50c0a4b]", also with a blank in between.
bool is_backtrace(const EngineLine& line) {
  const std::size_t offset = line.text.find("+0x");
  return line.text.starts_with('/') && offset != std::string::npos && line.text.ends_with(']') &&
         line.text.find("[0x", offset) != std::string::npos;
}

/// What people want to see first: trouble, and before the engine served also lines of others than llama-server's log.
bool is_relevant(const EngineLine& line, bool ready) {
  if (line.text.empty() || is_backtrace(line)) return false;
  if (line.level == LineLevel::error || line.level == LineLevel::warning) return true;
  return line.level == LineLevel::bare && (!ready || is_abort(line));
}

template <class Wanted>
std::vector<std::size_t> choose(const std::vector<EngineLine>& lines, Wanted wanted) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (wanted(lines[i])) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

std::string shortened(std::string text) {
  if (text.size() <= kExcerptBytes) return text;
  std::size_t end = kExcerptBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::vector<std::string> excerpt_of(const std::vector<EngineLine>& lines, const std::vector<std::string>& raw,
                                    bool ready, std::optional<std::size_t> decisive) {
  std::vector<std::size_t> chosen = choose(lines, [ready](const EngineLine& line) { return is_relevant(line, ready); });
  // Without any trouble in it, its end at least says how far the engine came; without the text of requests.
  if (chosen.empty()) chosen = choose(lines, [](const EngineLine& line) { return line.level == LineLevel::info; });
  if (chosen.size() > kExcerptLines) chosen.erase(chosen.begin(), chosen.end() - kExcerptLines);
  if (decisive && std::find(chosen.begin(), chosen.end(), *decisive) == chosen.end()) {
    if (chosen.size() == kExcerptLines) chosen.erase(chosen.begin());
    chosen.insert(std::lower_bound(chosen.begin(), chosen.end(), *decisive), *decisive);
  }
  std::vector<std::string> text;
  for (const std::size_t i : chosen) text.push_back(shortened(printable(raw[i])));
  return text;
}

std::vector<std::string> end_of_log(const std::vector<std::string>& raw) {
  std::vector<std::string> text;
  const std::size_t begin = raw.size() > kExcerptLines ? raw.size() - kExcerptLines : 0;
  for (std::size_t i = begin; i < raw.size(); ++i) text.push_back(shortened(printable(raw[i])));
  return text;
}

}  // namespace k3d::engine
