// What a plan says in words: reasons, warnings, and what breaks.
#pragma once

#include "daemon/planning/placement_search.hpp"
#include "daemon/planning/planner.hpp"

namespace k3d::planning {

/// All that the words are about.
struct PlanFacts {
  const PlanInputs& inputs;
  const MemoryModel& model;
  const Room& room;
  const Solution& solution;
};

/// Fills `breaks`, `verdict` and `reasons` from the figures: the first line that breaks comes first.
void judge(const PlanFacts& facts, Plan& plan);

/// Fills `warnings`: what will run, but worse than it could.
void warn(const PlanFacts& facts, Plan& plan);

}  // namespace k3d::planning
