// GET quants: what is known of each quant, and whether it would run here.
#pragma once

#include <string>
#include <vector>

#include "daemon/ports/planner.hpp"

namespace k3d::api {

/// {"items": [...], "next": null}, in the order given.
std::string quants_json(const std::vector<QuantView>& quants);

}  // namespace k3d::api
