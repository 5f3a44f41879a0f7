// The exact preflight: the engine's own dry run, llama-fit-params of the profile's image with the same devices, and what
// its figures mean beside the plan's. Not here: its arguments and answers (daemon/engine/fit_params).
#pragma once

#include <string>

#include "daemon/base/async/task.hpp"
#include "daemon/engine/log_signs.hpp"
#include "daemon/model/launch.hpp"
#include "daemon/ports/containers.hpp"

namespace k3d::lifecycle {

/// Seconds for an explicit placement, up to some minutes for a fit. Only while the devices are free: it allocates the
/// recurrent state. Errors: image_missing (the image has no llama-fit-params), does_not_fit (in the engine's words),
/// protocol (an answer that isn't known), and Docker's.
Task<Result<engine::Breakdown>> engine_figures(Containers& containers, Launch launch, std::string instance);

/// Pure: a line for each memory, the engine's figures beside the plan's.
std::vector<std::string> beside(const Plan& plan, const engine::Breakdown& figures);

/// Pure: does_not_fit, with the numbers, if the engine's figures and what CUDA takes beyond don't fit into what is free.
Status check_figures(const Plan& plan, const engine::Breakdown& figures);

}  // namespace k3d::lifecycle
