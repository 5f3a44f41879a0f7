// Questions to the planner that tests share.
#pragma once

#include <string>

#include "daemon/planning/planner.hpp"

namespace k3d::planning::test {

#if defined(__has_feature)
#define K3D_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define K3D_TEST_SANITIZED 1
#else
#define K3D_TEST_SANITIZED 0
#endif

/// CPU time of a plan: 20 ms in an optimised build; unoptimised and sanitized ones only have to end.
#if defined(__OPTIMIZE__) && !K3D_TEST_SANITIZED
inline constexpr double kPlanSeconds = 0.020;
#else
inline constexpr double kPlanSeconds = 5;
#endif

/// The reference deployment: 8 GPUs of 97,887 MiB, all free, 1 TiB of RAM.
PlanInputs reference(const std::string& quant, int slots, int context);

/// Five Qwen3-like layers for Kimi-K3: 2.25 billion parameters in BF16, 8 KV heads of 128.
ModelHeaders draft_headers();

}  // namespace k3d::planning::test
