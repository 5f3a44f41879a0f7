// Placement by patterns, as --override-tensor takes them: which weights leave their layer's device.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/planning/memory_model.hpp"

namespace k3d::planning {

/// Moves of "REGEX=DEVICE" rules; the first that matches a tensor's name counts (llama-model-loader.cpp). Devices are
/// CPU and CUDA0, CUDA1, … of `devices`. Error: invalid_request, with the rule.
Result<std::vector<Move>> moves_of_rules(const std::vector<std::string>& rules, const ModelHeaders& headers,
                                         const Architecture& model, int devices);

}  // namespace k3d::planning
