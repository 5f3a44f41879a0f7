// The supervisor, the part that people and other rooms ask: each request is checked, noted for the audit trail, and
// becomes an event.
#include <algorithm>

#include "daemon/base/log.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/supervisor.hpp"
#include "daemon/lifecycle/transition.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::system_clock;

constexpr seconds kFirstLook{5};
constexpr seconds kPlanPatience{10};

std::unexpected<Error> stopping() { return fail(Code::shutting_down, "k3d is stopping"); }

std::string code_of(const Error& error) { return std::string(to_string(error.code)); }

}  // namespace

void Supervisor::record(std::string who, std::string action, std::string subject, std::string reason,
                        std::string operation, std::string outcome) {
  ports_.journal.save(AuditEntry{0, system_clock::now(), std::move(who), std::move(action), std::move(subject),
                                 std::move(reason), std::move(operation), std::move(outcome)});
}

Result<Asked> Supervisor::activate(ActivateAsk ask) {
  const auto refuse = [this, &ask](Error error) -> Result<Asked> {
    record(ask.asked_by, "activate", ask.profile, ask.reason, {}, code_of(error));
    return fail(std::move(error));
  };
  if (finishing_) return stopping();
  if (settings_->find_profile(ask.profile) == nullptr) return refuse(unknown_profile(*settings_, ask.profile));
  if (const auto* held = std::get_if<state::Held>(&state_); held != nullptr && !ask.preempt) {
    return refuse({Code::gpus_held, "operation " + held->holder.value + " holds the GPUs",
                   "wait for it, cancel it with `k3ctl cancel " + held->holder.value + "`, or ask with \"preempt\"", {}});
  }
  const Operation* running = registry_.find(operation_of(state_));
  const bool waits = std::holds_alternative<state::Backoff>(state_);  // asking again means: now
  // Asking twice for another load means one.
  const bool covered = !ask.restart || (running != nullptr && target_of(state_)->restart);
  if (running != nullptr && running->kind == OperationKind::activate && running->profile == ask.profile && covered &&
      !waits) {
    return Asked{*running, false};
  }
  // It runs, or k3d is loading it by itself.
  const bool coming = std::holds_alternative<state::Ready>(state_) || std::holds_alternative<state::Loading>(state_) ||
                      std::holds_alternative<state::Probing>(state_);
  const bool runs = coming && target_profile(state_) == ask.profile && !ask.restart;
  const Operation made = registry_.create(OperationKind::activate, ask.profile, ask.reason, ask.asked_by, system_clock::now());
  record(ask.asked_by, "activate", ask.profile, ask.reason, made.id.value, "accepted");
  log::info("activation asked for", {{"profile", ask.profile}, {"operation", made.id.value}, {"by", ask.asked_by}});
  asked_ = true;
  Target target;
  target.profile = ask.profile;
  target.operation = made.id;
  target.force = ask.force;
  target.restart = ask.restart;
  target.accept_risk = ask.accept_risk;
  apply(event::Activate{target});
  return Asked{*registry_.find(made.id), !runs};
}

Task<void> Supervisor::first_look() {
  return effects_->first_look(std::chrono::steady_clock::now() + kFirstLook);
}

Result<Asked> Supervisor::deactivate(DeactivateAsk ask) {
  if (finishing_) return stopping();
  const Operation* running = registry_.find(operation_of(state_));
  if (running != nullptr && running->kind == OperationKind::deactivate && !ask.force) return Asked{*running, false};
  // Saying "stopped" before it is known what runs would leave running what is found later.
  if (const auto unknown = effects_->what_runs_is_unknown()) {
    record(ask.asked_by, "deactivate", {}, ask.reason, {}, code_of(*unknown));
    return fail(*unknown);
  }
  const bool nothing = std::holds_alternative<state::Stopped>(state_);
  const std::string profile = target_profile(state_);
  const Operation made = registry_.create(OperationKind::deactivate, profile, ask.reason, ask.asked_by, system_clock::now());
  record(ask.asked_by, "deactivate", profile, ask.reason, made.id.value, "accepted");
  log::info("deactivation asked for", {{"operation", made.id.value}, {"by", ask.asked_by}});
  asked_ = true;
  apply(event::Deactivate{made.id, ask.force});
  return Asked{*registry_.find(made.id), !nothing};
}

Result<Operation> Supervisor::cancel(const OperationId& id, std::string asked_by) {
  const Operation* operation = registry_.find(id);
  if (operation == nullptr) return fail(Code::not_found, "there is no operation \"" + id.value + "\"");
  if (operation->ended()) {
    return fail(Code::conflict, "the operation has ended: " + std::string(to_string(operation->state)));
  }
  if (operation->kind == OperationKind::deactivate) {
    return fail(Code::conflict, "a deactivation can't be cancelled", "activate a profile instead");
  }
  record(std::move(asked_by), "cancel", operation->profile, {}, id.value, "accepted");
  if (operation_of(state_) == id) {
    apply(event::Cancel{id});
  } else {  // of an earlier life of k3d, not taken up yet: it won't be
    registry_.end(id, OperationState::cancelled, cancelled_error(), {}, system_clock::now());
  }
  return *registry_.find(id);
}

Result<Overrides> Supervisor::override_settings(OverridesAsk ask) {
  if (finishing_) return stopping();
  const std::string action = ask.set.empty() ? "clear_overrides" : "set_overrides";
  const Profile* profile = settings_->find_profile(ask.profile);
  const Result<Profile> changed =
      profile == nullptr ? fail(unknown_profile(*settings_, ask.profile)) : ports_.overridden(*profile, ask.set);
  if (!changed) {
    record(ask.asked_by, action, ask.profile, ask.reason, {}, code_of(changed.error()));
    return fail(changed.error());
  }
  if (ask.set.empty()) {
    overrides_.erase(ask.profile);
    healed_.erase(ask.profile);
  } else {
    overrides_[ask.profile] = ask.set;
  }
  unfit_.erase(ask.profile);
  record(ask.asked_by, action, ask.profile, ask.reason, {}, "accepted");
  ports_.journal.save_overrides(ask.profile, ask.set);
  effects_->compare_again();
  publish();
  return ask.set;
}

Task<Result<std::vector<AuditEntry>>> Supervisor::audit(int limit, std::uint64_t before) {
  return ports_.journal.load_audit(limit, before);
}

Status Supervisor::hold_gpus(const OperationId& holder, std::function<void()> give_way) {
  if (const auto* held = std::get_if<state::Held>(&state_)) {
    return fail(Code::gpus_held, "operation " + held->holder.value + " holds the GPUs", "wait for it, or cancel it");
  }
  if (const auto unknown = effects_->what_runs_is_unknown()) return fail(*unknown);
  apply(event::Hold{holder});
  if (!std::holds_alternative<state::Held>(state_)) {
    return fail(Code::conflict, "profile " + target_profile(state_) + " has the GPUs", "deactivate it first: k3ctl down");
  }
  give_way_ = std::move(give_way);
  return {};
}

void Supervisor::release_gpus(const OperationId& holder) { apply(event::Release{holder}); }

Profile Supervisor::profile_in_force(const Profile& profile) const {
  const auto set = overrides_.find(profile.name);
  if (set == overrides_.end()) return profile;
  const Result<Profile> changed = ports_.overridden(profile, set->second);
  if (changed) return *changed;
  // The configuration has moved on under an override: what it says now counts.
  log::warning("an override no longer fits its profile and is left out", {{"cause", changed.error().text()}});
  return profile;
}

Task<Result<Launch>> Supervisor::dry_run(std::string profile, bool accept_risk) {
  return effects_->plan(std::move(profile), 0, accept_risk);
}

/// A file system or a driver that hangs keeps nobody waiting for long: the preparation waits for it, and can be cancelled.
Task<Result<std::shared_ptr<const Plan>>> Supervisor::plan(std::string profile, bool accept_risk) {
  struct Pending {
    Changes arrived;
    std::optional<Result<std::shared_ptr<const Plan>>> answer;
  };
  if (finishing_) co_return stopping();
  const auto pending = std::make_shared<Pending>();
  tasks_.spawn([](Effects& effects, std::string of, bool accept, std::shared_ptr<Pending> out) -> Task<void> {
    out->answer = co_await effects.plan_alone(std::move(of), accept);
    out->arrived.notify();
  }(*effects_, std::move(profile), accept_risk, pending));
  const SteadyTime deadline = std::chrono::steady_clock::now() + kPlanPatience;
  while (!pending->answer && std::chrono::steady_clock::now() < deadline && !finishing_) {
    co_await pending->arrived.wait(deadline);
  }
  if (!pending->answer) co_return fail(Code::timed_out, "the model's files or the GPUs could not be looked at in time");
  co_return std::move(*pending->answer);
}

Task<Result<std::shared_ptr<const Plan>>> Supervisor::plan(Profile profile) {
  return effects_->plan_alone(std::move(profile));
}

Task<Result<Launch>> Supervisor::dry_run(Profile profile) { return effects_->launch_of(std::move(profile)); }

std::string Supervisor::create_body(const Launch& launch) const { return ports_.containers.create_body(launch.container); }

std::filesystem::path Supervisor::log_file(std::uint64_t attempt) const {
  const std::vector<std::uint64_t> kept = kept_attempts(settings_->state);
  if (kept.empty()) return {};
  if (attempt == 0) attempt = kept.front();
  if (std::find(kept.begin(), kept.end(), attempt) == kept.end()) return {};
  return attempt_folder(settings_->state, attempt) / "engine.log";
}

std::vector<std::string> Supervisor::log_tail(std::uint64_t attempt, std::size_t lines) const {
  return lifecycle::log_tail(log_file(attempt), lines);
}

}  // namespace k3d::lifecycle
