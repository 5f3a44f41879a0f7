#include "daemon/forecast/asked_profile.hpp"

namespace k3d::forecast {
namespace {

std::string known_models(const Settings& settings) {
  std::string names;
  for (const auto& [name, model] : settings.models) names += (names.empty() ? "" : ", ") + name;
  return names;
}

Status check_model(const Settings& settings, const std::string& name, const char* field) {
  if (settings.models.contains(name)) return {};
  return fail(Code::invalid_request, std::string("\"") + field + "\": there is no model \"" + name + "\"",
              "the models are: " + known_models(settings));
}

/// Whose files they are.
Status take_model(const PlanQuestion& question, const Settings& settings, Profile& profile) {
  if (!question.path.empty()) {
    if (!question.model.empty() || !question.quant.empty()) {
      return fail(Code::invalid_request, "\"path\" stands in place of \"model\" and \"quant\"", "leave one of them out");
    }
    profile.model.clear();
    profile.quant.clear();
    return {};
  }
  if (!question.model.empty() && question.model != profile.model) {
    profile.model = question.model;
    profile.quant.clear();
  }
  if (!question.quant.empty()) profile.quant = question.quant;
  if (profile.model.empty()) {
    return fail(Code::invalid_request, "nothing says what to plan", "name a profile, a model with its quant, or a path");
  }
  if (Status known = check_model(settings, profile.model, "model"); !known) return known;
  if (settings.models.at(profile.model).path.empty() && profile.quant.empty()) {
    return fail(Code::invalid_request, "\"quant\" is missing: " + profile.model + " has several",
                "`k3ctl quants` lists them");
  }
  return {};
}

void take_placement(const PlanQuestion& question, Profile& profile) {
  if (question.placement) profile.placement = *question.placement;
  if (question.tensor_split.empty()) return;
  // A fit takes no split; an engine that is given one alone puts every layer on the GPUs.
  if (profile.placement.mode == PlacementMode::fit) {
    profile.placement = Placement{};
    profile.placement.mode = PlacementMode::n_cpu_moe;
    profile.placement.n_cpu_moe = 0;
  }
  profile.placement.tensor_split = question.tensor_split;
}

/// Which GPUs: by index those of the profile's list; sizes are any GPUs.
void take_gpus(const PlanQuestion& question, Profile& profile) {
  if (!question.gpus) return;
  profile.gpus = {question.gpus->empty() ? GpuChoice::none : GpuChoice::all, {}};
  for (const AskedGpu& gpu : *question.gpus) {
    if (!gpu.index) return;
  }
  if (question.gpus->empty()) return;
  profile.gpus.choice = GpuChoice::listed;
  for (const AskedGpu& gpu : *question.gpus) profile.gpus.listed.push_back(std::to_string(*gpu.index));
}

Status take_draft(const PlanQuestion& question, const Settings& settings, Profile& profile) {
  if (!question.draft) return {};
  if (question.draft->empty()) {
    profile.speculative.reset();
    return {};
  }
  if (Status known = check_model(settings, *question.draft, "draft"); !known) return known;
  if (!profile.speculative) profile.speculative = Speculative{"draft-dspark", {}};
  profile.speculative->model = *question.draft;
  return {};
}

}  // namespace

Profile profile_in_force(const Profile& configured, const Snapshot& now, const Overridden& overridden) {
  const auto set = now.overrides.find(configured.name);
  if (set == now.overrides.end()) return configured;
  return overridden(configured, set->second).value_or(configured);
}

Result<Profile> asked_profile(const PlanQuestion& question, const Snapshot& now, const Overridden& overridden) {
  const Settings& settings = *now.settings;
  Profile profile;
  if (!question.profile.empty()) {
    const Profile* found = settings.find_profile(question.profile);
    if (found == nullptr) return fail(unknown_profile(settings, question.profile));
    profile = profile_in_force(*found, now, overridden);
  }
  if (Status taken = take_model(question, settings, profile); !taken) return fail(taken.error());
  if (Status taken = take_draft(question, settings, profile); !taken) return fail(taken.error());
  take_placement(question, profile);
  take_gpus(question, profile);
  return overridden(profile, question.set);
}

Profile settled(Profile profile, const Plan& plan) {
  if (plan.batch == 0) return profile;  // nothing was computed
  profile.batch = plan.batch;
  profile.ubatch = plan.ubatch;
  Placement& placement = profile.placement;
  if (plan.devices.empty() || placement.mode != plan.placement.mode) return profile;
  if (placement.mode == PlacementMode::fit) placement.fit_target_mib = plan.placement.fit_target_mib;
  if (placement.mode == PlacementMode::n_cpu_moe) {
    placement.n_cpu_moe = plan.placement.n_cpu_moe;
    placement.tensor_split = plan.placement.tensor_split;
  }
  return profile;
}

}  // namespace k3d::forecast
