// The status as a page for a terminal. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "daemon/base/units.hpp"

namespace k3d::cli {

/// `status` is GET status; `now` gives the durations. Lines with newlines, made safe.
std::string status_page(const nlohmann::ordered_json& status, WallTime now);

/// "loading, target batch, 45 %": the state in one line, for the stream of events.
std::string status_line(const nlohmann::ordered_json& status);

}  // namespace k3d::cli
