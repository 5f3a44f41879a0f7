// Units with names: bytes and points in time. Sizes are read in SI (GB = 10^9) and IEC (GiB = 2^30) suffixes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"

namespace k3d {

using Bytes = std::uint64_t;
inline constexpr Bytes kKiB = 1024;
inline constexpr Bytes kMiB = 1024 * kKiB;
inline constexpr Bytes kGiB = 1024 * kMiB;

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// "256MiB", "1.5 GB", "4096": a number, then B, kB, MB, GB, TB, KiB, MiB, GiB, TiB or nothing (bytes).
/// Fails with invalid_request on anything else, negatives and what is over 2^63.
Result<Bytes> parse_bytes(std::string_view text);

/// "711.1 GB": SI, at most one decimal.
std::string format_bytes(Bytes bytes);

/// RFC 3339 in UTC with milliseconds: "2026-11-30T22:37:57.123Z".
std::string format_time(WallTime time);

/// RFC 3339 as Docker writes it (fraction of any length, Z or an offset). Docker's zero time and bad input fail.
Result<WallTime> parse_time(std::string_view text);

/// "1 h 2 min", "3 min 20 s", "12 s".
std::string format_duration(seconds duration);

}  // namespace k3d
