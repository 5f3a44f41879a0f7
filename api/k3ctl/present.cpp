#include "api/k3ctl/present.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "api/k3ctl/safe_text.hpp"

namespace k3d::cli {

std::string local_time(WallTime time) {
  const std::time_t whole = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  localtime_r(&whole, &local);
  char buffer[32];
  const std::size_t n = std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M:%S", &local);
  return std::string(buffer, n);
}

std::string local_time(const std::string& text) {
  const Result<WallTime> time = parse_time(text);
  return time ? local_time(*time) : text;
}

std::string duration_text(double seconds_count) {
  if (!std::isfinite(seconds_count) || seconds_count < 1) return "under 1 s";
  return format_duration(seconds(static_cast<std::int64_t>(std::min(seconds_count, 1e12))));
}

std::string duration_between(WallTime from, WallTime to) {
  return duration_text(std::chrono::duration<double>(to - from).count());
}

std::string rate_text(double bytes_per_second) {
  return format_bytes(static_cast<Bytes>(std::clamp(bytes_per_second, 0.0, 1e18))) + "/s";
}

namespace {

/// Lines after the first belong to it: the mistakes of a configuration are one a line.
std::string indented(const std::string& text) {
  std::string out;
  for (const char c : safe_text(text, Lines::many)) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return out;
}

}  // namespace

std::string error_text(const std::string& title, const std::string& detail, const std::string& advice) {
  std::string out = indented(title);
  if (!detail.empty() && detail != title) out += "\n  " + indented(detail);
  if (!advice.empty()) out += "\n  -> " + safe_text(advice);
  return out;
}

std::string error_text(const Error& error) {
  return error_text(error.cause.empty() ? error.message : error.message + ": " + error.cause, "", error.hint);
}

std::string operation_title(const Operation& operation) {
  std::string out(to_string(operation.kind));
  if (!operation.profile.empty()) out += " " + safe_text(operation.profile);
  return out;
}

}  // namespace k3d::cli
