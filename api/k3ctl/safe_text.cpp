#include "api/k3ctl/safe_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace k3d::cli {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr char32_t kInvalid = 0xffffffff;

struct Decoded {
  char32_t point = kInvalid;
  std::size_t length = 1;
};

/// The code point at the front of `text`; kInvalid and length 1 for what is not UTF-8 (RFC 3629, section 4).
Decoded decode(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t point = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = (point << 6) | (byte(i) & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return {point, length};
}

/// C0, DEL, C1, and the characters that turn the direction of writing.
bool acts(char32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e || point == 0x200f ||
         (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

/// Length of a colour sequence (ESC [ digits ; … m) at the front, or 0.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const auto end = text.find_first_not_of("0123456789;:", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::string safe_text(std::string_view text, Lines lines) {
  std::string out;
  while (!text.empty()) {
    if (const std::size_t colour = colour_length(text); colour > 0) {
      text.remove_prefix(colour);
      continue;
    }
    const Decoded here = decode(text);
    const bool layout = here.point == '\n' || here.point == '\t';
    if (here.point == kInvalid) {
      out += kReplacement;
    } else if (layout && lines == Lines::many) {
      out += text.front();
    } else if (layout) {
      out += ' ';
    } else if (acts(here.point)) {
      out += here.point < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(here.point))
                                : fmt::format("\\u{:04x}", static_cast<unsigned>(here.point));
    } else {
      out += text.substr(0, here.length);
    }
    text.remove_prefix(here.length);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string shell_line(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace k3d::cli
