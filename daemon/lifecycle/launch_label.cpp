// The labels of a container that hold what a later k3d needs of it, and the hash that tells a changed configuration.
#include "daemon/base/ids.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/sha256.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/launch_plan.hpp"
#include "daemon/lifecycle/planned_label.hpp"

namespace k3d::lifecycle {
namespace {

std::string label_of(const std::map<std::string, std::string>& labels, const std::string& name) {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string() : found->second;
}

/// The placement as configured: never what was computed from it.
Json placement_words(const Placement& placement) {
  return {{"mode", static_cast<int>(placement.mode)}, {"fit", placement.fit_target_mib},
          {"layers", placement.n_cpu_moe.value_or(-1)}, {"split", placement.tensor_split},
          {"tensors", placement.tensors}};
}

Json draft_words(const Speculative& draft) {
  return {{"type", draft.type}, {"model", draft.model}, {"device", draft.device}, {"n_max", draft.n_max}};
}

}  // namespace

std::string LaunchPlanner::spec_hash(const Profile& profile, const std::string& image_id,
                                     const std::string& files_identity) {
  Json words{{"model", profile.model}, {"quant", profile.quant}, {"gpus", static_cast<int>(profile.gpus.choice)},
                   {"listed", profile.gpus.listed}, {"placement", placement_words(profile.placement)},
                   {"context", profile.context}, {"slots", profile.slots}, {"batch", profile.batch.value_or(-1)},
                   {"ubatch", profile.ubatch.value_or(-1)}, {"env", profile.env}, {"extra_args", profile.extra_args},
                   {"aliases", profile.aliases}, {"cache_type", profile.cache_type},
                   {"threads", profile.threads.value_or(-1)},
                   {"cache_ram", profile.cache_ram ? std::to_string(*profile.cache_ram) : "auto"},
                   {"ctx_checkpoints", profile.ctx_checkpoints.value_or(-1)}, {"image", image_id},
                   {"files", files_identity}};
  // Only where there is one: the hash of what runs without stays what it was.
  if (profile.speculative) words["speculative"] = draft_words(*profile.speculative);
  return sha256_hex(dump_json(words));
}

std::string launch_label(const Launch& launch) {
  const Json label{{"folder", launch.folder.string()},   {"log", launch.log.string()},
                   {"socket", launch.address.unix_path}, {"port", launch.address.port},
                   {"image", launch.container.image},    {"image_id", launch.image_id},
                   {"argv", launch.argv},                {"weight_bytes", launch.weight_bytes},
                   {"devices", launch.container.cdi_devices},
                   {"plan", plan_words(launch.plan)},
                   {"measured_key", launch.measured_key},
                   {"pinned_key", launch.pinned_key},
                   {"unproven", launch.unproven}};
  return dump_json(label);
}

Result<Launch> launch_from_labels(const std::map<std::string, std::string>& labels) {
  const Result<Json> label = parse_json(label_of(labels, "k3d.launch"));
  if (!label) return fail(label.error());
  Launch launch;
  launch.profile = label_of(labels, "k3d.profile");
  launch.attempt = std::strtoull(label_of(labels, "k3d.attempt").c_str(), nullptr, 10);
  launch.spec_hash = label_of(labels, "k3d.spec");
  launch.folder = json_string(*label, "folder").value_or("");
  launch.log = json_string(*label, "log").value_or("");
  launch.address.unix_path = json_string(*label, "socket").value_or("");
  launch.address.port = static_cast<std::uint16_t>(json_int(*label, "port").value_or(0));
  launch.image_id = json_string(*label, "image_id").value_or("");
  launch.container.image = json_string(*label, "image").value_or("");
  launch.weight_bytes = static_cast<Bytes>(json_int(*label, "weight_bytes").value_or(0));
  for (const Json& argument : json_member(*label, "argv")) {
    if (argument.is_string()) launch.argv.push_back(argument.get<std::string>());
  }
  for (const Json& device : json_member(*label, "devices")) {
    if (device.is_string()) launch.container.cdi_devices.push_back(device.get<std::string>());
  }
  launch.plan = plan_from_words(json_member(*label, "plan"));
  launch.measured_key = json_string(*label, "measured_key").value_or("");
  launch.pinned_key = json_string(*label, "pinned_key").value_or("");
  launch.unproven = json_string(*label, "unproven").value_or("");
  const bool reachable = !launch.address.unix_path.empty() || launch.address.port != 0;
  if (!is_name(launch.profile) || launch.attempt == 0 || launch.folder.empty() || !reachable) {
    return fail(Code::protocol, "the labels do not describe an engine of k3d");
  }
  if (launch.address.unix_path.empty()) launch.address.api_key = kept_key(launch.folder);
  return launch;
}

}  // namespace k3d::lifecycle
