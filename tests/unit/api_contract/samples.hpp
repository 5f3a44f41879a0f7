// Values with every field set, and the comparison with the golden files. K3D_UPDATE_GOLDEN=1 rewrites those.
#pragma once

#include <string>

#include "daemon/model/snapshot.hpp"

namespace k3d::api::samples {

/// 2026-11-30T22:37:57.123Z plus `seconds`.
WallTime at(int seconds = 0);

Operation operation();
Failure failure();
Snapshot snapshot();
Settings settings();

/// Compares `json`, indented, with golden/NAME.json byte for byte: names, order and nulls are the contract.
void expect_golden(const std::string& name, const std::string& json);

}  // namespace k3d::api::samples
