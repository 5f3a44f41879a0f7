// The lifecycle's transition function: pure, total over every (state, event) pair, no I/O, no clock.
// Who calls it: the supervisor alone. What it asks for is performed by lifecycle/effects.
// Its table and diagram are docs/state-machine.md.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/instance.hpp"

namespace k3d::lifecycle {

/// What a transition may know of the settings and the time.
struct Facts {
  bool roll_back = true;   ///< on_failure of the profile that an activation asks for or that failed
  seconds served_for{0};   ///< how long the engine has been ready
  WallTime now{};          ///< for what is shown only; every wait is a duration
};

struct Step {
  InstanceState state;
  std::vector<Effect> effects;
  std::string ignored;  ///< not empty: why the event changed nothing
};

Step step(const InstanceState& state, const Event& event, const Facts& facts);

/// The profile k3d works towards or keeps up, and the one whose engine takes requests; empty: none.
std::string target_profile(const InstanceState& state);
std::string active_profile(const InstanceState& state);
/// The engine that runs, if any.
const Engine* running_engine(const InstanceState& state);
/// The operation under way, or an empty id.
OperationId operation_of(const InstanceState& state);
/// What is under way, if anything is.
const Target* target_of(const InstanceState& state);
/// How often its profile has failed lately.
Strikes strikes_of(const InstanceState& state);

}  // namespace k3d::lifecycle
