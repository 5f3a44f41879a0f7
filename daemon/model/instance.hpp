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

/// What an operation asked for.
struct Target {
  std::string profile;
  OperationId operation;      ///< empty: k3d's own doing (adoption)
  bool force = false;         ///< skip draining
  bool restart = false;       ///< load again though it runs
  std::string fall_back_to;   ///< profile to return to if this one fails; empty: none
  std::string rolled_back_from;  ///< set on the return itself: it is not rolled back again
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
};
struct Failed {
  std::string profile;
  Failure failure;
  std::optional<Engine> left = std::nullopt;  ///< an engine that could not be stopped: it goes before anything starts
};
}  // namespace state

using InstanceState = std::variant<state::Stopped, state::Preparing, state::Draining, state::Stopping, state::Starting,
                                   state::Loading, state::Probing, state::Ready, state::Failed>;

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
/// Stalled while loading, or the probe failed: the engine still runs but is given up.
struct GaveUp {
  std::uint64_t attempt = 0;
  Failure failure;
};
/// The engine ended by itself, or someone else ended it.
struct Exited {
  std::uint64_t attempt = 0;
  Failure failure;
};
/// At the daemon's start: a running container of this instance.
struct Adopted {
  Engine engine;
};
}  // namespace event

using Event = std::variant<event::Activate, event::Deactivate, event::Cancel, event::Prepared, event::PrepareFailed,
                           event::Drained, event::EngineStopped, event::StopFailed, event::Started, event::StartFailed,
                           event::HealthOk, event::ProbeOk, event::GaveUp, event::Exited, event::Adopted>;

namespace effect {
/// Work out the launch: files, image, capabilities, command line. Answers Prepared or PrepareFailed.
struct Prepare {
  Target target;
};
/// Give up a Prepare under way.
struct CancelPrepare {};
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
/// The profile that should run from now on; empty: none.
struct Persist {
  std::string profile;
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

using Effect = std::variant<effect::Prepare, effect::CancelPrepare, effect::Drain, effect::Stop, effect::Start,
                            effect::Watch, effect::Probe, effect::Discard, effect::Persist, effect::OperationStep,
                            effect::OperationEnd>;

Phase phase_of(const InstanceState& state);

}  // namespace k3d
