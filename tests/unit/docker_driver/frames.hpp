// Frames as Docker's log answer has them.
#pragma once

#include <string>
#include <string_view>

namespace k3d::test {

inline constexpr unsigned char kStdout = 1;
inline constexpr unsigned char kStderr = 2;

inline std::string header(unsigned char stream, std::size_t length) {
  std::string out(8, '\0');
  out[0] = static_cast<char>(stream);
  for (std::size_t i = 0; i < 4; ++i) out[4 + i] = static_cast<char>(length >> (24 - 8 * i) & 0xff);
  return out;
}

/// The stamp of second `second` of a minute, nanosecond `nano`.
inline std::string stamp(int second, int nano = 0) {
  std::string digits = std::to_string(nano);
  digits.insert(0, 9 - digits.size(), '0');
  return "2026-11-30T23:36:" + std::string(second < 10 ? "0" : "") + std::to_string(second) + "." + digits + "Z";
}

inline std::string frame(std::string_view at, std::string_view text, unsigned char stream = kStdout) {
  const std::string payload = std::string(at) + " " + std::string(text);
  return header(stream, payload.size()) + payload;
}

}  // namespace k3d::test
