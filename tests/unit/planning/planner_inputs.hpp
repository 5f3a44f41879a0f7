// Questions to the planner that tests share.
#pragma once

#include <chrono>

#include "daemon/planning/planner.hpp"

namespace k3d::planning::test {

/// 20 ms in an optimised build; unoptimised and sanitized ones have no promise to keep but to end.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
inline constexpr std::chrono::milliseconds kPlanLimit{20};
#else
inline constexpr std::chrono::milliseconds kPlanLimit{2000};
#endif

/// The reference deployment: 8 GPUs of 97,887 MiB, all free, 1 TiB of RAM.
PlanInputs reference(const std::string& quant, int slots, int context);

/// Five Qwen3-like layers for Kimi-K3: 2.25 billion parameters in BF16, 8 KV heads of 128.
ModelHeaders draft_headers();

}  // namespace k3d::planning::test
