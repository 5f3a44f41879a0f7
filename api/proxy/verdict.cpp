#include "api/proxy/verdict.hpp"

#include <algorithm>
#include <cmath>

namespace k3d::proxy {
namespace {

constexpr int kRetryWithoutEta = 30;
constexpr double kRetryMost = 3600;

/// Whose are the requests that no other profile answers to; empty if nothing runs or is meant to.
const std::string& prevailing(const Snapshot& snapshot) {
  return snapshot.route ? snapshot.route->profile : snapshot.target_profile;
}

/// The profile that answers to the name; nothing if none does or there is no name.
const Profile* meant_by(const Snapshot& snapshot, const std::optional<std::string>& model) {
  if (!model || !snapshot.settings) return nullptr;
  const Profile* first = snapshot.settings->find_profile(prevailing(snapshot));
  if (first != nullptr && answers_to(*first, *model)) return first;
  for (const Profile& profile : snapshot.settings->profiles) {
    if (answers_to(profile, *model)) return &profile;
  }
  return nullptr;
}

Verdict say(Answer answer) {
  return {std::move(answer), std::nullopt};
}

seconds hold_of(const Profile& profile) {
  return profile.while_loading == WhileLoading::hold ? profile.hold : seconds(0);
}

bool held(const Profile* profile) {
  return profile != nullptr && hold_of(*profile) > seconds(0);
}

const Profile* target_of(const Snapshot& snapshot) {
  return snapshot.settings ? snapshot.settings->find_profile(snapshot.target_profile) : nullptr;
}

/// The target is on its way; a profile that the configuration no longer has holds nobody.
Verdict on_its_way(const Snapshot& snapshot) {
  const Profile* target = target_of(snapshot);
  if (!held(target)) return say(still_loading(snapshot));
  return {std::nullopt, Wait{target->name, false, target->hold}};
}

Answer engine_failed(const Snapshot& snapshot) {
  const std::string code = snapshot.last_failure ? snapshot.last_failure->code : "unknown";
  const std::string title = snapshot.last_failure ? snapshot.last_failure->title : "";
  return openai_error(503, "the engine of profile " + snapshot.target_profile + " failed: " + code + ": " + title,
                      "engine_failed");
}

Answer not_active(const Snapshot& snapshot, const std::string& model, const std::string& profile) {
  const std::string runs = snapshot.route ? snapshot.route->profile + " is active"
                                          : snapshot.target_profile + " is " + std::string(to_string(snapshot.phase));
  return openai_error(
      409, "\"" + model + "\" is served by profile " + profile + ", but " + runs + "; switch with: k3ctl up " + profile,
      "profile_not_active");
}

/// Requests that no other profile answers to, while nothing takes requests.
Verdict without_route(const Snapshot& snapshot) {
  if (snapshot.phase == Phase::failed) return say(engine_failed(snapshot));
  if (!snapshot.target_profile.empty()) return on_its_way(snapshot);
  return say(openai_error(503, "no profile is active; start one with: k3ctl up PROFILE", "no_active_profile"));
}

/// A request for a profile that isn't the prevailing one.
Verdict for_another(const Snapshot& snapshot, const Profile& meant, const std::string& model) {
  if (meant.name == snapshot.target_profile) return on_its_way(snapshot);  // prepared while the old one still serves
  if (meant.on_request == OnRequest::switch_over) return {std::nullopt, Wait{meant.name, true, hold_of(meant)}};
  // A wait would end in the same answer.
  const bool decided = snapshot.phase != Phase::failed && held(target_of(snapshot));
  if (snapshot.route || decided) return say(not_active(snapshot, model, meant.name));
  return without_route(snapshot);
}

}  // namespace

Verdict judge(const Snapshot& snapshot, const std::optional<std::string>& model) {
  const Profile* meant = meant_by(snapshot, model);
  if (meant != nullptr && meant->name != prevailing(snapshot)) return for_another(snapshot, *meant, *model);
  if (snapshot.route) return {};
  return without_route(snapshot);
}

Verdict judge_unseen(const Snapshot& snapshot) {
  if (snapshot.route) return {};
  if (snapshot.settings) {
    for (const Profile& profile : snapshot.settings->profiles) {
      if (profile.on_request == OnRequest::switch_over && profile.name != snapshot.target_profile) return {};
    }
  }
  return without_route(snapshot);
}

Answer still_loading(const Snapshot& snapshot) {
  const double eta = snapshot.load.eta_seconds.value_or(kRetryWithoutEta);
  const int retry = static_cast<int>(std::ceil(std::clamp(eta, 1.0, kRetryMost)));
  std::string message = "profile " + snapshot.target_profile + " is " + std::string(to_string(snapshot.phase));
  if (snapshot.phase == Phase::loading) {
    message += ", " + std::to_string(static_cast<int>(snapshot.load.fraction * 100)) + " % of " +
               format_bytes(snapshot.load.total_bytes);
  }
  Answer answer = openai_error(503, message + "; try again in " + std::to_string(retry) + " s", "model_loading");
  answer.headers.emplace_back("Retry-After", std::to_string(retry));
  return answer;
}

Answer refused(const Snapshot& snapshot, const Wait& wait, const Error& error) {
  const bool loading = error.code == Code::model_loading || error.code == Code::timed_out;
  if (loading && snapshot.target_profile == wait.profile) return still_loading(snapshot);
  if (error.code == Code::engine_failed && snapshot.phase == Phase::failed) return engine_failed(snapshot);
  Error told = error;
  if (error.code == Code::profile_not_active && error.hint.empty()) told.hint = "switch with: k3ctl up " + wait.profile;
  Answer answer = loading ? openai_error(503, error.text(), "model_loading") : error_answer(told);
  if (loading) answer.headers.emplace_back("Retry-After", std::to_string(kRetryWithoutEta));
  if (error.code == Code::shutting_down) answer.headers.emplace_back("Retry-After", std::to_string(kRetrySeconds));
  return answer;
}

}  // namespace k3d::proxy
