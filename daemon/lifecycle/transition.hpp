// The transitions of one state, an overload for every pair of state and event that means something.
// Private to lifecycle/step; grouped by who causes the event into transition_{asks,progress,ends}.cpp.
#pragma once

#include <utility>

#include "daemon/lifecycle/step.hpp"

namespace k3d::lifecycle {

struct Transition {
  const InstanceState& whole;
  const Facts& facts;

  // ---- asked for: transition_asks.cpp
  Step operator()(const state::Stopped&, const event::Activate& e) const;
  Step operator()(const state::Preparing& s, const event::Activate& e) const;
  Step operator()(const state::Draining& s, const event::Activate& e) const;
  Step operator()(const state::Stopping& s, const event::Activate& e) const;
  Step operator()(const state::Clearing& s, const event::Activate& e) const;
  Step operator()(const state::Starting& s, const event::Activate& e) const;
  Step operator()(const state::Loading& s, const event::Activate& e) const;
  Step operator()(const state::Probing& s, const event::Activate& e) const;
  Step operator()(const state::Ready& s, const event::Activate& e) const;
  Step operator()(const state::Backoff& s, const event::Activate& e) const;
  Step operator()(const state::Held& s, const event::Activate& e) const;
  Step operator()(const state::Failed& s, const event::Activate& e) const;

  Step operator()(const state::Stopped&, const event::Deactivate& e) const;
  Step operator()(const state::Preparing& s, const event::Deactivate& e) const;
  Step operator()(const state::Draining& s, const event::Deactivate& e) const;
  Step operator()(const state::Stopping& s, const event::Deactivate& e) const;
  Step operator()(const state::Clearing& s, const event::Deactivate& e) const;
  Step operator()(const state::Starting& s, const event::Deactivate& e) const;
  Step operator()(const state::Loading& s, const event::Deactivate& e) const;
  Step operator()(const state::Probing& s, const event::Deactivate& e) const;
  Step operator()(const state::Ready& s, const event::Deactivate& e) const;
  Step operator()(const state::Backoff& s, const event::Deactivate& e) const;
  Step operator()(const state::Held& s, const event::Deactivate& e) const;
  Step operator()(const state::Failed& s, const event::Deactivate& e) const;

  Step operator()(const state::Preparing& s, const event::Cancel& e) const;
  Step operator()(const state::Draining& s, const event::Cancel& e) const;
  Step operator()(const state::Stopping& s, const event::Cancel& e) const;
  Step operator()(const state::Clearing& s, const event::Cancel& e) const;
  Step operator()(const state::Starting& s, const event::Cancel& e) const;
  Step operator()(const state::Loading& s, const event::Cancel& e) const;
  Step operator()(const state::Probing& s, const event::Cancel& e) const;
  Step operator()(const state::Backoff& s, const event::Cancel& e) const;
  Step operator()(const state::Held& s, const event::Cancel& e) const;

  Step operator()(const state::Ready& s, const event::Idle& e) const;
  Step operator()(const state::Stopped&, const event::Hold& e) const;
  Step operator()(const state::Failed& s, const event::Hold& e) const;
  Step operator()(const state::Held& s, const event::Release& e) const;

  // ---- a start goes on: transition_progress.cpp
  Step operator()(const state::Preparing& s, const event::Prepared& e) const;
  Step operator()(const state::Preparing& s, const event::PrepareFailed& e) const;
  Step operator()(const state::Draining& s, const event::Drained& e) const;
  Step operator()(const state::Stopping& s, const event::EngineStopped& e) const;
  Step operator()(const state::Stopping& s, const event::StopFailed& e) const;
  Step operator()(const state::Clearing& s, const event::VramFree& e) const;
  Step operator()(const state::Clearing& s, const event::VramHeld& e) const;
  Step operator()(const state::Starting& s, const event::Started& e) const;
  Step operator()(const state::Starting& s, const event::StartFailed& e) const;
  Step operator()(const state::Loading& s, const event::HealthOk& e) const;
  Step operator()(const state::Probing& s, const event::ProbeOk& e) const;
  Step operator()(const state::Backoff& s, const event::RetryDue& e) const;

  // ---- an engine ends, or is found: transition_ends.cpp
  Step operator()(const state::Loading& s, const event::GaveUp& e) const;
  Step operator()(const state::Probing& s, const event::GaveUp& e) const;
  Step operator()(const state::Ready& s, const event::GaveUp& e) const;
  Step operator()(const state::Preparing& s, const event::Exited& e) const;
  Step operator()(const state::Draining& s, const event::Exited& e) const;
  Step operator()(const state::Stopping&, const event::Exited&) const;
  Step operator()(const state::Loading& s, const event::Exited& e) const;
  Step operator()(const state::Probing& s, const event::Exited& e) const;
  Step operator()(const state::Ready& s, const event::Exited& e) const;
  Step operator()(const state::Failed& s, const event::Exited& e) const;
  Step operator()(const state::Stopped&, const event::Adopted& e) const;
  Step operator()(const state::Failed& s, const event::Adopted& e) const;
  Step operator()(const state::Preparing& s, const event::Adopted& e) const;
  Step operator()(const state::Backoff& s, const event::Adopted& e) const;
  Step operator()(const state::Held& s, const event::Adopted& e) const;
  Step operator()(const state::Stopped&, const event::Missing& e) const;

  /// Every other pair: the event speaks of something that is no longer, or not yet, so.
  template <class S, class E>
  Step operator()(const S&, const E&) const {
    return ignore("it has no meaning in this phase");
  }

  // ---- what several of them do
  [[nodiscard]] Step ignore(std::string why) const { return {whole, {}, std::move(why)}; }
  [[nodiscard]] Step prepare(Target target, std::optional<Engine> serving, const std::string& from) const;
  /// `next` with a way back to `from`, if its profile wants one and has none yet.
  [[nodiscard]] Target with_way_back(Target next, const std::string& from) const;
  [[nodiscard]] Step drain(const Engine& engine, const Target& target, std::optional<Launch> launch) const;
  [[nodiscard]] Step stop_first(const Engine& engine, const Target& next) const;
  [[nodiscard]] Step clear(const Target& target, const Launch& launch) const;
  /// `failure` ended the way to `target`, or its serving, and nothing runs: back to the earlier profile if there is
  /// one, or another try after a while, or Failed.
  [[nodiscard]] Step settle(Target target, const Failure& failure, bool served) const;
};

/// Ends `operation`, if it is one.
void end(Step& out, const OperationId& operation, OperationState how, std::optional<OperationError> error = {},
         std::string rolled_back_to = {});
/// `operation`, if it is one, is now at `step`.
void at(Step& out, const OperationId& operation, std::string step);
OperationError superseded_error();
OperationError cancelled_error();
void supersede(Step& out, const OperationId& operation);
OperationError error_of(const Failure& failure);
Target target_for(const std::string& profile, Strikes strikes);
/// The profile that whatever takes the place of `old` may return to: what served before it was asked for.
std::string way_back_of(const Target& old);

}  // namespace k3d::lifecycle
