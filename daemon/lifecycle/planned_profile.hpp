// Pure: from a profile to the questions that its plan answers, and from the plan to what is launched and what is refused.
// Not here: reading files, GPUs and the state (planned_start), the figures themselves (daemon/planning).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/gpu.hpp"
#include "daemon/planning/planner.hpp"
#include "daemon/planning/proof.hpp"

namespace k3d::lifecycle {

/// The profile's GPUs in the engine's order, which is that of the bus. Nothing if one of them isn't there.
std::optional<std::vector<GpuState>> gpus_of(const Gpus& gpus, const std::vector<GpuState>& all);

/// What the next engine finds free: what `ours` processes hold is given back before it starts, and so is what belongs to
/// no process any more.
std::vector<planning::GpuMemory> memory_for_next(const std::vector<GpuState>& gpus);

/// What is launched: the profile with what its plan computed.
Profile with_plan(Profile profile, const Plan& plan);

/// llama-server's name for the draft model's GPU; nothing without GPUs. `gpus`: how many the engine sees, for where there
/// is no plan.
std::optional<std::string> draft_device(const Profile& profile, const Plan* plan, std::size_t gpus);

/// Everything that decides whether a start is refused.
struct StartQuestion {
  const planning::PlanInputs& inputs;
  const Plan& plan;
  const planning::Proof& proof;
  bool accept_risk = false;
};

/// Errors: quant_blocked; does_not_fit, with the first break in figures; quant_unproven. With `accept_risk` only what
/// can't be: a blocked quant, weights that have no room.
Status check_start(const StartQuestion& question);

/// What a start with a GPU leaves unproven on this host, in words; empty: nothing.
std::string what_is_unproven(const planning::Proof& proof, const Plan& plan);

}  // namespace k3d::lifecycle
