#include "daemon/lifecycle/recovery.hpp"

#include <algorithm>

#include "daemon/lifecycle/failure_of.hpp"

namespace k3d::lifecycle {
namespace {

OperationError interrupted(std::string why) {
  return {"interrupted", "It was interrupted", std::move(why), "ask for it again"};
}

/// Whether it had gone on after its preparation.
bool was_prepared(const Operation& operation) {
  return std::any_of(operation.steps.begin(), operation.steps.end(),
                     [](const OperationStep& step) { return step.name != "prepare" && step.name != "wait"; });
}

Target target_of(const Operation& operation, const Memory& memory) {
  Target target;
  target.profile = operation.profile;
  target.operation = operation.id;
  target.accept_risk = was_prepared(operation);  // then its plan was judged already
  if (memory.desired == operation.profile) target.fall_back_to = memory.fall_back_to;
  return target;
}

/// Whether an engine of its own was started for it.
bool has_started(const Operation& operation) {
  return std::any_of(operation.steps.begin(), operation.steps.end(), [](const OperationStep& step) {
    return step.name == "start" || step.name == "load" || step.name == "probe";
  });
}

/// What was under way goes on under the same id.
Event resumed(const Operation& operation, const Found& found, const Memory& memory) {
  if (operation.kind == OperationKind::deactivate) return event::Deactivate{operation.id, false};
  Target target = target_of(operation, memory);
  // The engine that runs may be the one that was to be replaced by a newer load of the same profile.
  target.restart = found.runs && found.runs->launch.profile == operation.profile && !has_started(operation);
  return event::Activate{target};
}

/// k3d ended while it stopped what still runs, and nobody had asked for that: it was given up, or idle.
Event stopped_by_itself(const Memory& memory, const Engine& runs) {
  if (memory.desired.empty()) return event::Deactivate{};
  Target target;
  target.profile = memory.desired;
  target.restart = memory.desired == runs.launch.profile;
  target.accept_risk = true;  // it ran
  return event::Activate{target};
}

void interrupt(Recovery& out, const std::vector<Operation>& open, std::size_t from, const std::string& why) {
  for (std::size_t i = from; i < open.size(); ++i) out.interrupted.emplace_back(open[i].id, interrupted(why));
}

Recovery after_boot(const Memory& memory, const Boot& boot) {
  Recovery out;
  interrupt(out, memory.open, 0, "the host was rebooted");
  std::string wanted = memory.desired;
  if (!memory.open.empty()) wanted = memory.open.front().kind == OperationKind::activate ? memory.open.front().profile : "";
  if (boot.choice == Boot::Choice::last) out.boot = wanted;
  out.boot_ran = boot.choice == Boot::Choice::last && memory.open.empty();
  if (boot.choice == Boot::Choice::profile) out.boot = boot.profile;
  out.forget = out.boot.empty();
  if (wanted.empty()) return out;
  out.failure = named_failure("host_rebooted", wanted, 0, "the host was rebooted while " + wanted + " ran");
  return out;
}

/// Same boot, nothing under way, and what should run doesn't.
Event missing(const Memory& memory, const Found& found) {
  const std::string& profile = memory.desired;
  const bool given_up = memory.failure && memory.failure->final && memory.failure->failure.profile == profile;
  if (!memory.rolled_back_from.empty() && !given_up) {
    Target back;
    back.profile = profile;
    back.rolled_back_from = memory.rolled_back_from;
    return event::Activate{back};
  }
  if (found.ended && found.ended->profile == profile) return event::Missing{profile, found.ended->failure, true, false};
  if (memory.failure && memory.failure->failure.profile == profile) {
    return event::Missing{profile, memory.failure->failure, false, memory.failure->final};
  }
  const std::string detail = "its container was gone when k3d started";
  return event::Missing{profile, named_failure("removed_externally", profile, 0, detail), true, true};
}

}  // namespace

Recovery recover(const Memory& memory, const Found& found, const Boot& boot, const std::string& boot_id) {
  // A daemon may have ended before it wrote down where it ran; what it was asked for is younger than any boot then.
  const bool unknown = memory.boot_id.empty() && !memory.open.empty();
  const bool booted = memory.boot_id != boot_id && !unknown;
  if (booted && !found.runs) return after_boot(memory, boot);
  Recovery out;
  if (memory.failure) out.failure = memory.failure->failure;
  if (found.runs) out.adopt = event::Adopted{*found.runs};
  out.at_once = found.runs && memory.stopping == std::to_string(found.runs->launch.attempt);
  interrupt(out, memory.open, 1, "a newer request had taken its place");
  if (!memory.open.empty()) {
    out.resume = resumed(memory.open.front(), found, memory);
  } else if (out.at_once) {
    out.resume = stopped_by_itself(memory, *found.runs);
  } else if (!found.runs && memory.stopped_on_exit) {
    out.forget = true;
  } else if (!found.runs && !memory.desired.empty()) {
    out.resume = missing(memory, found);
  }
  return out;
}

}  // namespace k3d::lifecycle
