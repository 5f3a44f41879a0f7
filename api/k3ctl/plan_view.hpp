// A plan as a page for a terminal or a file. Pure.
#pragma once

#include <string>

#include "api/k3ctl/session.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::cli {

/// The verdict first; then a table of the GPUs, on a terminal with a bar for each; host, placement, capacity, warnings.
/// Lines with newlines, made safe.
std::string plan_page(const PlanAnswer& answer, const Terminal& terminal);

/// `width` characters for the free memory of a GPU: weights #, context +, compute =, CUDA's own ~, what is left .; an
/// overflowing one ends in !.
std::string plan_bar(const PlannedDevice& device, int width);

/// Whether one may go ahead with it.
bool plan_runs(const Plan& plan);

}  // namespace k3d::cli
