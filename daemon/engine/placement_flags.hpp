// Where layers and experts go, as flags. --fit and an explicit placement never together: llama-server would drop the
// fit with only a warning.
#pragma once

#include <vector>

#include "daemon/engine/arguments.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::engine {

void add_placement(Arguments& arguments, const Profile& profile);

/// Whether the engine is left to find the placement: in mode fit, and where what would take its place isn't known.
bool is_left_to_engine(const Placement& placement);

/// MiB that a fit leaves free: one for every device, or one per device.
std::vector<int> fit_margins(const Placement& placement);

/// Whether the placement leaves experts on the CPU by its own words: then each micro-batch copies them to a GPU.
bool is_hybrid(const Placement& placement);

}  // namespace k3d::engine
