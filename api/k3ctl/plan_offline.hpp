// A plan without a daemon: from a file's headers and the sizes on the command line. Reads the files, blocking.
// Not here: this host's GPUs and memory, drafts, argument lists, and whether a quant's kernels are proven.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::cli {

/// `question` needs no daemon. Errors: those of planning::read_model; invalid_request for settings that are no numbers.
Result<PlanAnswer> plan_offline(const PlanQuestion& question);

}  // namespace k3d::cli
