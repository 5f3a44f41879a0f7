// A plan in words, for people.
#pragma once

#include <string>

#include "daemon/model/plan.hpp"

namespace k3d::planning {

/// Lines of text: the verdict with its reasons, where everything goes, what is left, warnings, capacity.
std::string explain(const Plan& plan);

}  // namespace k3d::planning
