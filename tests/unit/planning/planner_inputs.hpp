// Questions to the planner that tests share.
#pragma once

#include <string>

#include "daemon/planning/planner.hpp"

namespace k3d::planning::test {

/// The reference deployment: 8 GPUs of 97,887 MiB, all free, 1 TiB of RAM.
PlanInputs reference(const std::string& quant, int slots, int context);

/// Five Qwen3-like layers for Kimi-K3: 2.25 billion parameters in BF16, 8 KV heads of 128.
ModelHeaders draft_headers();

}  // namespace k3d::planning::test
