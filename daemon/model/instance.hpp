// The lifecycle's words: the states an instance can be in, what can happen to it, and what it can ask for.
// Each state holds only what is valid in it. The transitions are daemon/lifecycle/step.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "daemon/base/ids.hpp"
#include "daemon/model/failure.hpp"
#include "daemon/model/launch.hpp"
#include "daemon/model/snapshot.hpp"

namespace k3d {

/// Failures in a row of a profile that k3d keeps up by itself: what the limits of retries count.
struct Strikes {
  int loading = 0;   ///< since it last served
  int serving = 0;   ///< after having served, until it served well for long
  int docker = 0;    ///< starts that Docker's absence prevented; no limit
  int restarts = 0;  ///< engines started anew since someone activated it
};

/// What an operation asked for.
struct Target {
  std::string profile;
  OperationId operation;      ///< empty: k3d's own doing (adoption)
  bool force = false;         ///< skip draining
  bool restart = false;       ///< load again though it runs
  bool accept_risk = false;   ///< start against the plan's advice
  std::string fall_back_to;   ///< profile to return to if this one fails; empty: none
  std::string rolled_back_from;  ///< set on the return itself: it is not rolled back again
  Strikes strikes;
};

/// A container of ours that runs.
struct Engine {
  ContainerId container;
  Launch launch;
  int pid = 0;  ///< of the container's first process
  WallTime started_at{};
  std::optional<WallTime> ready_at;
  bool adopted = false;
};

namespace state {
/// Nothing runs and nothing is meant to.
struct Stopped {};
/// The launch of `target` is being worked out; `serving` goes on serving meanwhile.
struct Preparing {
  Target target;
  std::optional<Engine> serving;
};
/// `serving` takes no new requests; `launch` follows, or nothing.
struct Draining {
  Target target;  ///< profile empty: deactivate
  std::optional<Launch> launch;
  Engine serving;
};
/// `engine` is being stopped; then `launch` follows, or `failure` is what remains, or nothing.
struct Stopping {
  Target target;
  std::optional<Launch> launch;
  std::optional<Failure> failure;
  Engine engine;
  bool served = false;  ///< with `failure`: the engine had been ready
};
/// The memory of the GPUs that `launch` is for is waited for.
struct Clearing {
  Target target;
  Launch launch;
};
/// The container is being created and started.
struct Starting {
  Target target;
  Launch launch;
};
/// The engine runs and does not answer yet.
struct Loading {
  Target target;
  Engine engine;
};
/// /health is 200; a completion is on its way.
struct Probing {
  Target target;
  Engine engine;
};
struct Ready {
  Engine engine;
  Strikes strikes;
};
/// `failure` ended the profile's engine; another is started at `retry_at`.
struct Backoff {
  Target target;
  Failure failure;
  int attempt = 0;  ///< the how many-th failure in a row this was
  int limit = 0;    ///< so many end it; 0: none
  WallTime retry_at{};
};
struct Failed {
  std::string profile;
  Failure failure;
  std::optional<Engine> left = std::nullopt;  ///< an engine that could not be stopped: it goes before anything starts
};
/// Nothing runs: an operation other than an activation has the GPUs.
struct Held {
  OperationId holder;
  Target next;                                   ///< what follows it; profile empty: nothing
  std::optional<Failed> before = std::nullopt;   ///< what is true again after it, if nothing follows
};
}  // namespace state

using InstanceState = std::variant<state::Stopped, state::Preparing, state::Draining, state::Stopping, state::Clearing,
                                   state::Starting, state::Loading, state::Probing, state::Ready, state::Backoff,
                                   state::Held, state::Failed>;

namespace event {
/// A person asked for `target.profile`.
struct Activate {
  Target target;
};
struct Deactivate {
  OperationId operation;
  bool force = false;
};
struct Cancel {
  OperationId operation;
};
/// The launch was worked out (`launch`) or can't be (`failure`).
struct Prepared {
  OperationId operation;
  Launch launch;
};
struct PrepareFailed {
  OperationId operation;
  Failure failure;
};
struct Drained {
  std::uint64_t attempt = 0;
};
/// The container of `attempt` is gone, by our doing.
struct EngineStopped {
  std::uint64_t attempt = 0;
};
/// Docker did not stop it.
struct StopFailed {
  std::uint64_t attempt = 0;
  Failure failure;
};
struct Started {
  Engine engine;
};
struct StartFailed {
  std::uint64_t attempt = 0;
  Failure failure;
};
struct HealthOk {
  std::uint64_t attempt = 0;
};
struct ProbeOk {
  std::uint64_t attempt = 0;
  WallTime at{};
};
/// The GPUs' memory is free for `attempt`, or something stays in the way.
struct VramFree {
  std::uint64_t attempt = 0;
};
struct VramHeld {
  std::uint64_t attempt = 0;
  Failure failure;
};
/// Stalled while loading, the probe failed, or it can't be reached any more: the engine runs but is given up.
struct GaveUp {
  std::uint64_t attempt = 0;
  Failure failure;
};
/// The engine ended by itself, or someone else ended it.
struct Exited {
  std::uint64_t attempt = 0;
  Failure failure;
};
/// The time of a Backoff is over.
struct RetryDue {
  WallTime due{};
};
/// Nobody asked the engine for anything for as long as its profile says.
struct Idle {
  std::uint64_t attempt = 0;
};
/// An operation other than an activation takes the GPUs, or gives them back.
struct Hold {
  OperationId holder;
};
struct Release {
  OperationId holder;
};
/// A running container of this instance that k3d did not start in this life.
struct Adopted {
  Engine engine;
};
/// At the daemon's start: what should run does not.
struct Missing {
  std::string profile;
  Failure failure;
  bool served = false;  ///< it had been ready
  bool final = false;   ///< it had been given up already
};
}  // namespace event

using Event = std::variant<event::Activate, event::Deactivate, event::Cancel, event::Prepared, event::PrepareFailed,
                           event::Drained, event::EngineStopped, event::StopFailed, event::Started, event::StartFailed,
                           event::HealthOk, event::ProbeOk, event::VramFree, event::VramHeld, event::GaveUp,
                           event::Exited, event::RetryDue, event::Idle, event::Hold, event::Release, event::Adopted,
                           event::Missing>;

namespace effect {
/// Work out the launch: files, image, capabilities, command line. Answers Prepared or PrepareFailed.
struct Prepare {
  Target target;
};
/// Give up the Prepare, Clear or Retry under way.
struct CancelPrepare {};
/// Give up the Drain under way.
struct CancelDrain {};
/// Wait until the GPUs' memory is free for `launch`. Answers VramFree or VramHeld.
struct Clear {
  Launch launch;
};
/// Wait for `delay`. Answers RetryDue.
struct Retry {
  WallTime due{};
  seconds delay{0};
};
/// Ask the operation that has the GPUs to end. Answers Release.
struct Preempt {
  OperationId holder;
};
/// Look after an engine that serves. Answers GaveUp.
struct Guard {
  Engine engine;
};
/// Admit no more, wait for what is in flight (not at all with `force`). Answers Drained.
struct Drain {
  Engine engine;
  bool force = false;
};
/// Cut connections, stop and remove the container. Answers EngineStopped or StopFailed.
struct Stop {
  Engine engine;
};
/// Create and start the container. Answers Started or StartFailed.
struct Start {
  Launch launch;
};
/// Watch for readiness, progress, stalls (`loading`), and the end. Answers HealthOk, GaveUp, Exited.
struct Watch {
  Engine engine;
  bool loading = true;
};
/// One-token completion. Answers ProbeOk or GaveUp.
struct Probe {
  Engine engine;
};
/// Remove what a failed engine left behind, its log kept.
struct Discard {
  Engine engine;
};
/// The profile that should run from now on, and the one to return to if it can't; empty: none.
struct Persist {
  std::string profile, fall_back_to;
  std::string rolled_back_from;  ///< not empty: `profile` is on its way back because this one failed
};
/// The operation is now at `step`.
struct OperationStep {
  OperationId operation;
  std::string step;
};
struct OperationEnd {
  OperationId operation;
  OperationState state = OperationState::succeeded;
  std::optional<OperationError> error;
  std::string rolled_back_to;
};
}  // namespace effect

using Effect = std::variant<effect::Prepare, effect::CancelPrepare, effect::CancelDrain, effect::Clear, effect::Retry,
                            effect::Preempt, effect::Guard, effect::Drain, effect::Stop, effect::Start, effect::Watch,
                            effect::Probe, effect::Discard, effect::Persist, effect::OperationStep,
                            effect::OperationEnd>;

Phase phase_of(const InstanceState& state);

}  // namespace k3d
