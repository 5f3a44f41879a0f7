#include "daemon/adapters/proc_text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

namespace k3d::adapters {

namespace fs = std::filesystem;

std::string proc_text(const fs::path& path) {
  constexpr std::size_t kLimit = 8 * kMiB;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[16384];
  while (file && text.size() < kLimit) {
    file.read(piece, sizeof piece);
    text.append(piece, static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::optional<std::uint64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::string> value_of(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find_first_not_of(" \t", key.size());
    if (colon == std::string::npos || line[colon] != ':') continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_of(const std::string& text, std::string_view key) {
  const auto value = value_of(text, key);
  return value ? leading_number(*value) : std::nullopt;
}

Known<std::string> known_text(const fs::path& path) {
  if (::access(path.c_str(), R_OK) == 0) return proc_text(path);
  if (errno == ENOENT || errno == ENOTDIR) return unknown("there is no " + path.string());
  if (errno == EACCES || errno == EPERM) {
    return unknown(path.string() + " is closed to uid " + std::to_string(::geteuid()));
  }
  return unknown(path.string() + ": " + std::strerror(errno));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

}  // namespace k3d::adapters
