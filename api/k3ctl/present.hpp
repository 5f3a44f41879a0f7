// Values of the API in a person's words: local times, SI sizes, durations, problems. Pure but for the time zone.
#pragma once

#include <optional>
#include <string>

#include "daemon/base/error.hpp"
#include "daemon/base/units.hpp"
#include "daemon/model/operation.hpp"

namespace k3d::cli {

/// "2026-11-30 22:37:57" in the local time zone.
std::string local_time(WallTime time);
/// The same of an RFC 3339 text; `text` itself if it is none.
std::string local_time(const std::string& text);

/// "3 min 20 s"; for less than a second "under 1 s".
std::string duration_text(double seconds);
std::string duration_between(WallTime from, WallTime to);

/// "1.2 GB/s".
std::string rate_text(double bytes_per_second);

/// Several lines: what is wrong, and after an arrow what to do. Made safe.
std::string error_text(const std::string& title, const std::string& detail, const std::string& advice);
std::string error_text(const Error& error);

/// "activate batch" or "deactivate".
std::string operation_title(const Operation& operation);

}  // namespace k3d::cli
