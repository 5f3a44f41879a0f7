// The supervisor, the part that inference requests ask: until their profile serves, or why it doesn't.
#include "daemon/lifecycle/backoff.hpp"
#include "daemon/lifecycle/supervisor.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;

/// How long a plan's refusal holds for requests: what others do with the GPUs changes no faster.
constexpr seconds kRefusalHolds{10};

enum class Answer { ready, wait, begin, refuse };

struct Judgement {
  Answer answer = Answer::wait;
  Error why;             ///< of refuse, and of a wait that runs out
  SteadyTime until = SteadyTime::max();  ///< when a wait ends by itself
};

Error other_runs(const std::string& wanted, const std::string& runs) {
  return {Code::profile_not_active, "profile " + wanted + " is asked for, but " + runs + " runs",
          "switch with: k3ctl up " + wanted, {}};
}

Error loading(const std::string& profile, Phase phase) {
  return {Code::model_loading, "profile " + profile + " is " + std::string(to_string(phase)), {}, {}};
}

Error engine_failed(const std::string& profile) {
  return {Code::engine_failed, "the engine of profile " + profile + " failed",
          "see why with `k3ctl status`; then `k3ctl up " + profile + "` tries again", {}};
}

/// Requests begin a switch only from rest: what is under way is finished first, or two profiles would chase each other.
Judgement judge(const InstanceState& state, const Wanted& wanted, SteadyTime residency_ends, bool unfit, SteadyTime now) {
  const std::string target = target_profile(state);
  const Phase phase = phase_of(state);
  if (std::holds_alternative<state::Held>(state)) {
    return {Answer::refuse, {Code::gpus_held, "another operation holds the GPUs", "try again later", {}}};
  }
  if (phase == Phase::ready && target == wanted.profile) return {Answer::ready, {}};
  if (phase == Phase::ready && !wanted.switch_over) return {Answer::refuse, other_runs(wanted.profile, target)};
  // A request may not take a good engine down for a profile that has just failed: a person decides that.
  if (unfit && (phase == Phase::ready || phase == Phase::stopped || phase == Phase::failed)) {
    return {Answer::refuse, engine_failed(wanted.profile)};
  }
  if (phase == Phase::ready && residency_ends > now) {
    return {Answer::wait, other_runs(wanted.profile, target), residency_ends};
  }
  const auto* failed = std::get_if<state::Failed>(&state);
  if (failed != nullptr && target == wanted.profile && !is_passing(failed->failure.code)) {
    return {Answer::refuse, engine_failed(target)};
  }
  if (phase == Phase::ready || phase == Phase::failed || phase == Phase::stopped) {
    if (wanted.switch_over) return {Answer::begin, {}};
    const bool nothing = target.empty();
    return {Answer::refuse, nothing ? Error{Code::no_active_profile, "no profile is active", "k3ctl up PROFILE", {}}
                                    : other_runs(wanted.profile, target)};
  }
  const bool mine = target == wanted.profile;
  if (!mine && !wanted.switch_over) return {Answer::refuse, other_runs(wanted.profile, target)};
  return {Answer::wait, mine ? loading(target, phase) : other_runs(wanted.profile, target)};
}

}  // namespace

/// A profile that failed, or whose refusal a moment ago needn't be asked for again yet.
bool Supervisor::is_unfit(const std::string& profile) const {
  if (unfit_.count(profile) > 0) return true;
  return last_failure_ && last_failure_->profile == profile && is_passing(last_failure_->code) &&
         std::chrono::system_clock::now() - last_failure_->at < kRefusalHolds;
}

Task<Status> Supervisor::ensure_ready(Wanted wanted, SteadyTime until) {
  bool begun = false;
  while (!finishing_) {
    const Profile* runs = settings_->find_profile(active_profile(state_));
    const SteadyTime residency_ends = runs == nullptr ? SteadyTime{} : ready_since_ + runs->min_residency;
    Judgement judged = judge(state_, wanted, residency_ends, is_unfit(wanted.profile), steady_clock::now());
    if (judged.answer == Answer::ready) co_return Status{};
    if (judged.answer == Answer::refuse) co_return fail(std::move(judged.why));
    if (judged.answer == Answer::begin) {
      if (begun) co_return fail(Code::engine_failed, "the switch to profile " + wanted.profile + " failed", "k3ctl status");
      begun = true;
      const auto asked = activate({wanted.profile, false, false, false, "a request asked for it", wanted.asked_by});
      if (!asked) co_return fail(asked.error());
      continue;
    }
    if (steady_clock::now() >= until) co_return fail(std::move(judged.why));
    co_await changes_.wait(std::min(until, judged.until));
  }
  co_return fail(Code::shutting_down, "k3d is stopping");
}

}  // namespace k3d::lifecycle
