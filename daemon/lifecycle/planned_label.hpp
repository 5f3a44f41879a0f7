// Pure: the part of a plan that a later k3d needs of an engine that it adopts, as JSON of the launch's label; and back.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "daemon/model/plan.hpp"

namespace k3d::lifecycle {

/// Memory by device and on the host, the placement's mode and how many layers have experts on the CPU. Null for no plan.
nlohmann::ordered_json plan_words(const std::shared_ptr<const Plan>& plan);
/// Null if these are no words of a plan.
std::shared_ptr<const Plan> plan_from_words(const nlohmann::ordered_json& words);

}  // namespace k3d::lifecycle
