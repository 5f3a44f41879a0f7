#include "daemon/lifecycle/planned_label.hpp"

#include "daemon/base/json.hpp"

namespace k3d::lifecycle {
namespace {

Json device_words(const PlannedDevice& device) {
  return Json{{"index", device.index},           {"layers", device.layers},
              {"model", device.model_bytes},     {"context", device.context_bytes},
              {"compute", device.compute_bytes}, {"reserve", device.reserve_bytes},
              {"free", device.free_bytes},       {"left", device.left_bytes}};
}

Bytes bytes(const Json& words, std::string_view key) {
  return static_cast<Bytes>(std::max<std::int64_t>(json_int(words, key).value_or(0), 0));
}

PlannedDevice device_from(const Json& words) {
  PlannedDevice device;
  device.index = static_cast<int>(json_int(words, "index").value_or(0));
  const Json& layers = json_member(words, "layers");
  if (layers.is_number()) device.layers = layers.get<double>();
  device.model_bytes = bytes(words, "model");
  device.context_bytes = bytes(words, "context");
  device.compute_bytes = bytes(words, "compute");
  device.reserve_bytes = bytes(words, "reserve");
  device.free_bytes = bytes(words, "free");
  device.left_bytes = json_int(words, "left").value_or(0);
  return device;
}

}  // namespace

Json plan_words(const std::shared_ptr<const Plan>& plan) {
  if (plan == nullptr) return nullptr;
  Json devices = Json::array();
  for (const PlannedDevice& device : plan->devices) devices.push_back(device_words(device));
  const Json host{{"model", plan->host.model_bytes}, {"context", plan->host.context_bytes},
                  {"compute", plan->host.compute_bytes}};
  const PlannedPlacement& placement = plan->placement;
  return Json{{"mode", static_cast<int>(placement.mode)},
              {"fit_target_mib", placement.fit_target_mib},
              {"n_cpu_moe", placement.n_cpu_moe ? Json(*placement.n_cpu_moe) : Json(nullptr)},
              {"tensor_split", placement.tensor_split},
              {"cpu_expert_layers", placement.cpu_expert_layers},
              {"batch", plan->batch},
              {"ubatch", plan->ubatch},
              {"devices", std::move(devices)},
              {"host", host}};
}

std::shared_ptr<const Plan> plan_from_words(const Json& words) {
  const auto mode = json_int(words, "mode");
  if (!mode || *mode < 0 || *mode > static_cast<int>(PlacementMode::pinned)) return nullptr;
  auto plan = std::make_shared<Plan>();
  plan->placement.mode = static_cast<PlacementMode>(*mode);
  if (const auto layers = json_int(words, "n_cpu_moe")) plan->placement.n_cpu_moe = static_cast<int>(*layers);
  for (const Json& margin : json_member(words, "fit_target_mib")) {
    if (margin.is_number_integer()) plan->placement.fit_target_mib.push_back(margin.get<int>());
  }
  for (const Json& share : json_member(words, "tensor_split")) {
    if (share.is_number()) plan->placement.tensor_split.push_back(share.get<double>());
  }
  plan->placement.cpu_expert_layers = static_cast<int>(json_int(words, "cpu_expert_layers").value_or(0));
  plan->batch = static_cast<int>(json_int(words, "batch").value_or(0));
  plan->ubatch = static_cast<int>(json_int(words, "ubatch").value_or(0));
  for (const Json& device : json_member(words, "devices")) plan->devices.push_back(device_from(device));
  const Json& host = json_member(words, "host");
  plan->host.model_bytes = bytes(host, "model");
  plan->host.context_bytes = bytes(host, "context");
  plan->host.compute_bytes = bytes(host, "compute");
  return plan;
}

}  // namespace k3d::lifecycle
