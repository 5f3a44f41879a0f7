#include "daemon/base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>

namespace k3d {
namespace {

struct Suffix {
  std::string_view name;
  double factor;
};

constexpr std::array kSuffixes{Suffix{"", 1},      Suffix{"B", 1},          Suffix{"kB", 1e3},
                               Suffix{"KB", 1e3},  Suffix{"MB", 1e6},       Suffix{"GB", 1e9},
                               Suffix{"TB", 1e12}, Suffix{"KiB", 1024.0},   Suffix{"MiB", 1048576.0},
                               Suffix{"GiB", 0x1p30}, Suffix{"TiB", 0x1p40}};

std::unexpected<Error> bad_size(std::string_view text) {
  return fail(Code::invalid_request, "\"" + std::string(text) + "\" is not a size",
              "write a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 256MiB");
}

/// Two decimal digits at `at`, or -1.
int two_digits(std::string_view text, std::size_t at) {
  if (at + 2 > text.size()) return -1;
  int value = 0;
  const auto [end, ec] = std::from_chars(text.data() + at, text.data() + at + 2, value);
  return ec == std::errc() && end == text.data() + at + 2 ? value : -1;
}

/// Seconds east of UTC of "Z", "+02:00" or "-0130"; nothing on bad input.
std::optional<int> offset_seconds(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() < 5 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int hours = two_digits(text, 1);
  const int minutes = two_digits(text, text[3] == ':' ? 4 : 3);
  if (hours < 0 || minutes < 0) return std::nullopt;
  const int total = hours * 3600 + minutes * 60;
  return text[0] == '-' ? -total : total;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (ec != std::errc() || !std::isfinite(number) || number < 0) return bad_size(text);
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const Suffix& suffix : kSuffixes) {
    if (rest != suffix.name) continue;
    const double bytes = number * suffix.factor;
    if (bytes >= 0x1p63) return bad_size(text);
    return static_cast<Bytes>(std::llround(bytes));
  }
  return bad_size(text);
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string format_time(WallTime time) {
  const auto ms = std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
  const std::time_t whole = static_cast<std::time_t>(ms >= 0 ? ms / 1000 : (ms - 999) / 1000);
  std::tm utc{};
  gmtime_r(&whole, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, ms - whole * 1000);
}

Result<WallTime> parse_time(std::string_view text) {
  const auto bad = [text] { return fail(Code::invalid_request, "\"" + std::string(text) + "\" is not an RFC 3339 time"); };
  std::tm utc{};
  const std::string head(text.substr(0, 19));
  const char* end = strptime(head.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  if (end == nullptr || *end != '\0' || text.size() < 20) return bad();
  std::size_t at = 19;
  std::int64_t nanos = 0;
  if (text[at] == '.') {
    std::int64_t scale = 100'000'000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10) nanos += (text[at] - '0') * scale;
  }
  const std::optional<int> offset = offset_seconds(text.substr(at));
  if (!offset || utc.tm_year < 0) return bad();
  const std::time_t whole = timegm(&utc) - *offset;
  return WallTime(std::chrono::duration_cast<WallTime::duration>(seconds(whole) + std::chrono::nanoseconds(nanos)));
}

std::string format_duration(seconds duration) {
  const auto total = duration.count();
  if (total >= 3600) return fmt::format("{} h {} min", total / 3600, total % 3600 / 60);
  if (total >= 60) return fmt::format("{} min {} s", total / 60, total % 60);
  return fmt::format("{} s", total);
}

}  // namespace k3d
