#include "api/contract/profile.hpp"

#include "api/contract/plan.hpp"
#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

Json auto_or(const std::optional<int>& number) {
  return number ? Json(*number) : Json("auto");
}

Json gpus_value(const Gpus& gpus) {
  switch (gpus.choice) {
    case GpuChoice::all:
      return "all";
    case GpuChoice::none:
      return "none";
    case GpuChoice::listed:
      return Json(gpus.listed);
  }
  return nullptr;
}

Json fit_target_value(const std::vector<int>& targets) {
  if (targets.empty()) return "auto";
  if (targets.size() == 1) return targets.front();
  return Json(targets);
}

Json placement_value(const Placement& placement) {
  Json out = Json::object();
  switch (placement.mode) {
    case PlacementMode::fit:
      out["mode"] = "fit";
      out["fit_target_mib"] = fit_target_value(placement.fit_target_mib);
      break;
    case PlacementMode::n_cpu_moe:
      out["mode"] = "n_cpu_moe";
      out["layers"] = auto_or(placement.n_cpu_moe);
      out["tensor_split"] = placement.tensor_split.empty() ? Json("auto") : Json(placement.tensor_split);
      break;
    case PlacementMode::pinned:
      out["mode"] = "pinned";
      break;
    case PlacementMode::override_tensors:
      out["mode"] = "override";
      out["tensors"] = Json(placement.tensors);
      break;
  }
  return out;
}

/// Of the verdict, or why there is none.
Json reasons_of(const ProfileFacts& facts) {
  Json out = Json::array();
  if (!facts.outlook) return out;
  if (*facts.outlook) return Json((*facts.outlook)->plan.reasons);
  out.push_back(facts.outlook->error().message);
  return out;
}

Json files_of(const PlanAnswer* answer) {
  Json out = Json::object();
  out["present_bytes"] = answer == nullptr ? Json(nullptr) : Json(answer->present_bytes);
  out["total_bytes"] = answer == nullptr ? Json(nullptr) : Json(answer->plan.total_bytes);
  return out;
}

}  // namespace

std::string_view to_string(ProfileState state) {
  switch (state) {
    case ProfileState::active:
      return "active";
    case ProfileState::starting:
      return "starting";
    case ProfileState::stopped:
      return "stopped";
    case ProfileState::failed:
      return "failed";
  }
  return {};
}

ProfileState profile_state(const Snapshot& snapshot, const std::string& name) {
  if (snapshot.active_profile == name) return ProfileState::active;
  if (snapshot.target_profile == name && snapshot.phase != Phase::failed && snapshot.phase != Phase::stopped) {
    return ProfileState::starting;
  }
  // A rollback leaves another profile running, and the failure of this one standing.
  if (snapshot.last_failure && snapshot.last_failure->profile == name) return ProfileState::failed;
  if (snapshot.target_profile == name && snapshot.phase == Phase::failed) return ProfileState::failed;
  return ProfileState::stopped;
}

Json profile_config_object(const Profile& profile) {
  Json out = Json::object();
  out["model"] = profile.model;
  out["quant"] = text_or_null(profile.quant);
  out["source"] = text_or_null(profile.source);
  out["image"] = text_or_null(profile.image);
  out["gpus"] = gpus_value(profile.gpus);
  out["placement"] = placement_value(profile.placement);
  out["context"] = profile.context;
  out["slots"] = profile.slots;
  out["batch"] = auto_or(profile.batch);
  out["ubatch"] = auto_or(profile.ubatch);
  out["env"] = Json::object();
  for (const auto& [key, value] : profile.env) out["env"][key] = value;
  out["extra_args"] = Json(profile.extra_args);
  out["aliases"] = Json(profile.aliases);
  out["while_loading"] = profile.while_loading == WhileLoading::hold ? "hold" : "reject";
  out["hold_seconds"] = profile.hold.count();
  out["on_request"] = profile.on_request == OnRequest::switch_over ? "switch" : "refuse";
  out["on_failure"] = profile.on_failure == OnFailure::rollback ? "rollback" : "stay_down";
  out["drain_seconds"] = profile.drain.count();
  out["stall_seconds"] = profile.stall.count();
  out["min_residency_seconds"] = profile.min_residency.count();
  out["idle_stop_seconds"] = profile.idle_stop ? Json(profile.idle_stop->count()) : Json(nullptr);
  out["self_heal"] = profile.self_heal;
  out["allow_unproven"] = profile.allow_unproven;
  out["cache_type"] = profile.cache_type;
  out["threads"] = auto_or(profile.threads);
  out["cache_ram"] = profile.cache_ram ? Json(*profile.cache_ram) : Json("auto");
  out["ctx_checkpoints"] = auto_or(profile.ctx_checkpoints);
  return out;
}

Json profile_object(const Snapshot& snapshot, const Profile& profile, const ProfileFacts& facts) {
  Json out = Json::object();
  out["name"] = profile.name;
  out["model"] = profile.model;
  out["quant"] = text_or_null(profile.quant);
  out["source"] = text_or_null(profile.source);
  out["image"] = text_or_null(snapshot.settings ? image_tag(*snapshot.settings, profile) : profile.image);
  out["aliases"] = Json(profile.aliases);
  out["slots"] = profile.slots;
  out["context"] = profile.context;
  out["state"] = to_string(profile_state(snapshot, profile.name));
  const PlanAnswer* answer = facts.outlook && *facts.outlook ? &**facts.outlook : nullptr;
  out["verdict"] = answer == nullptr ? Json(nullptr) : Json(to_string(answer->plan.verdict));
  out["reasons"] = reasons_of(facts);
  out["files"] = files_of(answer);
  out["image_present"] = facts.image_present ? Json(*facts.image_present) : Json(nullptr);
  out["proven"] = answer != nullptr && answer->proof ? Json(to_string(*answer->proof)) : Json(nullptr);
  const auto overrides = snapshot.overrides.find(profile.name);
  out["overrides"] = overrides == snapshot.overrides.end() ? Json(nullptr) : overrides_object(overrides->second);
  return out;
}

std::string profile_json(const Snapshot& snapshot, const Profile& profile, const ProfileFacts& facts) {
  Json out = profile_object(snapshot, profile, facts);
  out["config"] = profile_config_object(profile);
  out["plan"] = facts.outlook && *facts.outlook ? plan_object(**facts.outlook) : Json(nullptr);
  return dump_json(out);
}

}  // namespace k3d::api
