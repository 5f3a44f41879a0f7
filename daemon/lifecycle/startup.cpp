// The supervisor, the part that starts: what is remembered, what Docker has, and what follows from both.
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/lifecycle/backoff.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/supervisor.hpp"
#include "daemon/lifecycle/transition.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

/// How long an adopted engine may take to say that it is well before what was under way goes on.
constexpr seconds kAdoptionPatience{3};

}  // namespace

/// Of profiles that nothing is known of yet; what was set meanwhile is newer.
Task<void> Supervisor::recall_overrides(std::shared_ptr<const Settings> settings) {
  for (const Profile& profile : settings->profiles) {
    if (!recalled_.insert(profile.name).second) continue;
    Overrides set = co_await ports_.journal.load_overrides(profile.name);
    const auto healed = co_await ports_.journal.get("healed/" + profile.name);
    if (!set.empty()) overrides_.try_emplace(profile.name, std::move(set));
    if (healed) healed_.try_emplace(profile.name, std::atoi(healed->c_str()));
  }
}

Task<Memory> Supervisor::recall() {
  Memory memory;
  auto remembered = co_await ports_.journal.load_operations(static_cast<int>(operations::Registry::kKept));
  if (remembered) memory.open = registry_.restore(std::move(*remembered), system_clock::now());
  co_await recall_overrides(settings_);
  memory.desired = co_await ports_.journal.load_desired();
  const auto fall_back_to = co_await ports_.journal.get("fall_back_to");
  const auto boot_id = co_await ports_.journal.get("boot_id");
  const auto failure = co_await ports_.journal.get("failure");
  const auto stopped = co_await ports_.journal.get("stopped_on_exit");
  const auto rolled_back_from = co_await ports_.journal.get("rolled_back_from");
  const auto stopping = co_await ports_.journal.get("stopping");
  memory.stopped_on_exit = stopped == "yes";
  memory.fall_back_to = fall_back_to.value_or("");
  memory.rolled_back_from = rolled_back_from.value_or("");
  memory.stopping = stopping.value_or("");
  memory.boot_id = boot_id.value_or("");
  memory.failure = failure_record(failure.value_or(""));
  co_return memory;
}

Task<void> Supervisor::restore() {
  const Memory memory = co_await recall();
  publish();
  const HostFacts host = co_await effects_->host_facts();
  const Found found = co_await effects_->reconcile(memory.open.empty());
  if (closed_) co_return;  // what runs was not found out: nothing may be forgotten
  Recovery recovery = recover(memory, found, settings_->boot, host.boot_id);
  for (const auto& [id, error] : recovery.interrupted) {
    registry_.end(id, OperationState::failed, error, {}, system_clock::now());
  }
  if (recovery.failure) {
    last_failure_ = recovery.failure;
    if (!is_of_surroundings(last_failure_->code)) unfit_.insert(last_failure_->profile);
  }
  if (recovery.forget) ports_.journal.save_desired({});
  co_await carry_out(std::move(recovery), memory.open);
  if (finishing_) co_return;  // what was meant is still to be done, by the next daemon
  ports_.journal.put("boot_id", host.boot_id);
  ports_.journal.put("stopped_on_exit", {});
  publish();
}

/// Whoever asked for something since the start is newer than anything remembered; so is who cancelled it.
bool Supervisor::overtaken(const std::vector<Operation>& open) {
  const Operation* newest = open.empty() ? nullptr : registry_.find(open.front().id);
  if (asked_) {
    for (const Operation& operation : open) {
      registry_.end(operation.id, OperationState::cancelled, superseded_error(), {}, system_clock::now());
    }
  }
  return asked_ || (newest != nullptr && newest->ended());
}

Task<void> Supervisor::carry_out(Recovery recovery, std::vector<Operation> open) {
  const bool late = overtaken(open);
  const auto* resumed = recovery.resume ? std::get_if<event::Activate>(&*recovery.resume) : nullptr;
  // The load that was under way is still the one that runs: it goes on under the operation's id.
  const bool same = recovery.adopt && resumed != nullptr && !late && !resumed->target.restart &&
                    resumed->target.profile == recovery.adopt->engine.launch.profile;
  if (same) apply(*recovery.resume);
  if (recovery.adopt) apply(*recovery.adopt);
  restored_ = !recovery.adopt;  // else once it takes requests, or isn't what runs any more
  effects_->begin_work();
  if (same) co_return;
  publish();
  const SteadyTime deadline = steady_clock::now() + (recovery.at_once ? seconds(0) : kAdoptionPatience);
  while (recovery.adopt && phase_ == Phase::loading && steady_clock::now() < deadline) co_await changes_.wait(deadline);
  if (late || overtaken(open)) co_return;
  if (recovery.resume) apply(*recovery.resume);
  if (recovery.boot.empty()) co_return;
  const auto asked =
      activate({recovery.boot, false, false, false, "the host has booted", "k3d", recovery.boot_ran});
  if (!asked) log::error("nothing is started after the boot", {{"cause", asked.error().text()}});
}

}  // namespace k3d::lifecycle
