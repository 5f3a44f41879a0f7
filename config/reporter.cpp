#include "config/reporter.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace k3d::config {
namespace {

constexpr std::size_t kLongestShown = 80;

/// Edit distance with swaps of neighbours counted as one (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

void Reporter::add(Place place, std::string path, std::string what) {
  if (!seen_.emplace(place.line, place.column, what).second) return;
  mistakes_.push_back({place.line, place.column, std::move(path), std::move(what)});
}

std::vector<Mistake> Reporter::take() {
  const auto order = [](const Mistake& m) { return std::tie(m.line, m.column, m.what); };
  std::ranges::sort(mistakes_, {}, order);
  seen_.clear();
  return std::exchange(mistakes_, {});
}

std::string in_quotes(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, kLongestShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + (text.size() > kLongestShown ? "…\"" : "\"");
}

std::string nearest(std::string_view text, const std::vector<std::string>& names) {
  if (text.size() > 64) return {};
  std::size_t best = (text.size() < 4 ? 1 : std::max<std::size_t>(2, text.size() / 3)) + 1;
  std::string found;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(text, name);
    if (distance < best) {
      best = distance;
      found = name;
    }
  }
  if (!found.empty() || text.size() < 3) return found;
  const auto longer = std::ranges::find_if(names, [text](const std::string& name) { return name.starts_with(text); });
  return longer == names.end() ? "" : *longer;
}

std::string suggestion(std::string_view text, const std::vector<std::string>& names) {
  if (names.empty()) return "; there are none";
  const std::string near = nearest(text, names);
  if (!near.empty()) return "; did you mean " + in_quotes(near) + "?";
  return "; allowed: " + joined(names);
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

std::string describe(const std::filesystem::path& file, const Mistake& mistake) {
  std::string out = file.string() + ":" + std::to_string(mistake.line) + ":" + std::to_string(mistake.column) + ": ";
  if (!mistake.path.empty()) out += mistake.path + ": ";
  return out + mistake.what;
}

}  // namespace k3d::config
