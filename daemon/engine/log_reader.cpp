#include "daemon/engine/log_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace k3d::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Length of the ANSI escape that `text` begins with: CSI, OSC up to BEL or ST, or two bytes.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {
    const auto end = std::find_if(text.begin() + 2, text.end(), [](char c) { return c >= '@' && c <= '~'; });
    return static_cast<std::size_t>(end - text.begin()) + (end == text.end() ? 0 : 1);
  }
  if (text[1] == ']') {
    const std::size_t end = text.find_first_of("\a\x1b", 2);
    if (end == std::string_view::npos) return text.size();
    return end + (text[end] == '\x1b' && end + 1 < text.size() && text[end + 1] == '\\' ? 2 : 1);
  }
  return 2;
}

/// Length of the valid UTF-8 sequence that `text` begins with (RFC 3629), or 0.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : (lead & 0xF0U) == 0xE0      ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool outside = (lead == 0xED && byte(1) >= 0xA0) || (lead == 0xF4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

bool is_c1_control(std::string_view sequence) {
  return sequence.size() == 2 && sequence[0] == '\xC2' && static_cast<unsigned char>(sequence[1]) < 0xA0;
}

std::optional<LineLevel> level_of(char letter) {
  switch (letter) {
    case 'E':
      return LineLevel::error;
    case 'W':
      return LineLevel::warning;
    case 'I':
      return LineLevel::info;
    case 'D':
      return LineLevel::debug;
    default:
      return std::nullopt;
  }
}

/// llama-server's components, which it writes four columns wide in front of the function.
constexpr std::array<std::string_view, 6> kComponents{"srv", "cmn", "slot", "que", "res", "cli"};

/// Takes "srv  " off `text` if it begins so.
std::string take_component(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  if (std::find(kComponents.begin(), kComponents.end(), word) == kComponents.end()) return {};
  text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  return std::string(word);
}

}  // namespace

std::vector<std::string> LineSplitter::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    open_.append(piece.substr(0, limit_ - open_.size()));
    if (end == std::string_view::npos) break;
    lines.push_back(std::exchange(open_, {}));
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

std::optional<std::string> LineSplitter::finish() {
  if (open_.empty()) return std::nullopt;
  return std::exchange(open_, {});
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (text[0] == '\x1b') {
      text.remove_prefix(escape_length(text));
      continue;
    }
    const std::size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    const bool control = length == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == '\x7f');
    if (length == 1 && text[0] == '\t') {
      out += ' ';
    } else if (text == "\r") {
      // the end of a line of another system
    } else if (length == 0 || control || is_c1_control(sequence)) {
      out += kReplacement;
    } else {
      out += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return out;
}

std::size_t stamp_length(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at == 0) return 0;
  for (const std::size_t digits : {2U, 3U, 3U}) {
    if (at + digits >= text.size() || text[at] != '.') return 0;
    const std::string_view part = text.substr(at + 1, digits);
    if (!std::all_of(part.begin(), part.end(), is_digit)) return 0;
    at += digits + 1;
  }
  return at < text.size() && text[at] == ' ' ? at + 1 : 0;
}

EngineLine read_engine_line(std::string_view line) {
  EngineLine result;
  result.text = printable(line);
  std::string_view rest = result.text;
  const std::size_t stamp = stamp_length(rest);
  rest.remove_prefix(stamp);
  // The level is there with or without a time stamp in front.
  if (rest.size() < 2 || rest[1] != ' ') return result;
  const std::optional<LineLevel> level = level_of(rest[0]);
  if (!level || (stamp == 0 && rest.find(": ") == std::string_view::npos)) return result;
  result.level = *level;
  rest.remove_prefix(std::min(rest.find_first_not_of(' ', 1), rest.size()));
  result.component = take_component(rest);
  result.text = std::string(rest);
  return result;
}

}  // namespace k3d::engine
