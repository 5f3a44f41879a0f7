#include "api/contract/profile.hpp"

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
  out["verdict"] = nullptr;
  out["reasons"] = Json::array();
  Json files = Json::object();
  files["present_bytes"] = bytes_or_null(facts.present_bytes);
  files["total_bytes"] = bytes_or_null(facts.total_bytes);
  out["files"] = std::move(files);
  out["image_present"] = facts.image_present ? Json(*facts.image_present) : Json(nullptr);
  out["proven"] = nullptr;
  const auto overrides = snapshot.overrides.find(profile.name);
  out["overrides"] = overrides == snapshot.overrides.end() ? Json(nullptr) : overrides_object(overrides->second);
  return out;
}

std::string profile_json(const Snapshot& snapshot, const Profile& profile, const ProfileFacts& facts) {
  Json out = profile_object(snapshot, profile, facts);
  out["config"] = profile_config_object(profile);
  out["plan"] = nullptr;
  return dump_json(out);
}

}  // namespace k3d::api
