#include "daemon/planning/memory_model.hpp"

#include <algorithm>

namespace k3d::planning {
namespace {

MemoryUse& at(ModelUse& use, int device) {
  return device == kHost ? use.host : use.devices[static_cast<std::size_t>(device)];
}

/// Where layers begin, and whether all are on devices.
void describe_layers(const Placed& placed, ComputeQuestion& question) {
  for (std::size_t il = 0; il < placed.layer_device.size(); ++il) {
    if (placed.layer_device[il] == kHost) {
      question.whole = false;
      continue;
    }
    auto& device = question.devices[static_cast<std::size_t>(placed.layer_device[il])];
    if (device.layers++ == 0) device.first_layer = static_cast<int>(il);
  }
}

/// Experts in host RAM, counted for the device of their layer; layers of the host run on the first device too.
void describe_host_experts(const Placed& placed, const ModelWeights& weights, ComputeQuestion& question) {
  const auto add = [&](int home, Bytes largest) {
    if (question.first_expert == 0) question.first_expert = largest;
    auto& device = question.devices[static_cast<std::size_t>(std::max(home, 0))];
    device.largest_expert = std::max(device.largest_expert, largest);
  };
  for (std::size_t il = 0; il < weights.layers.size(); ++il) {
    if (placed.layer_device[il] == kHost) add(kHost, weights.layers[il].largest_expert);
  }
  for (const Move& move : placed.moves) {
    if (move.device == kHost) add(placed.layer_device[static_cast<std::size_t>(move.layer)], move.largest_expert);
  }
}

ComputeQuestion question_of(const Placed& placed, const ModelWeights& weights, int devices) {
  ComputeQuestion question;
  question.devices.resize(static_cast<std::size_t>(devices));
  question.overrides = placed.overrides || !placed.moves.empty();
  question.offload = placed.offload;
  describe_layers(placed, question);
  if (devices > 0) describe_host_experts(placed, weights, question);
  return question;
}

}  // namespace

MemoryModel::MemoryModel(Architecture model, ModelWeights weights, Serving serving, int devices,
                         std::optional<KnownCompute> known)
    : model_(std::move(model)),
      weights_(std::move(weights)),
      serving_(serving),
      devices_(devices),
      known_(std::move(known)) {
  for (std::size_t il = 0; il < weights_.layers.size(); ++il) {
    layer_bytes_.push_back(weights_.layers[il].total());
    layer_context_.push_back(cache_bytes(model_.states[il], serving_) + recurrent_bytes(model_.states[il], serving_));
  }
  layer_bytes_.push_back(weights_.output);
  layer_context_.push_back(0);
}

MemoryModel MemoryModel::with(const Serving& serving) const {
  return {model_, weights_, serving, devices_, std::nullopt};
}

Move MemoryModel::move_of(int layer, unsigned parts, int device) const {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const Bytes experts = weights.sum(parts & kExperts);
  return {layer, device, weights.sum(parts), experts > 0 ? weights.largest_expert : 0};
}

Placed MemoryModel::with_cpu_experts(std::vector<int> layer_device, int count) const {
  Placed placed{std::move(layer_device), {}, count > 0};
  for (int il = 0; il < std::min(count, model_.layers); ++il) {
    if (const Move move = move_of(il, kExperts, kHost); move.bytes > 0) placed.moves.push_back(move);
  }
  return placed;
}

void MemoryModel::add_layers(const Placed& placed, ModelUse& use) const {
  use.host.model += weights_.input;
  for (std::size_t il = 0; il < placed.layer_device.size(); ++il) {
    MemoryUse& home = at(use, placed.layer_device[il]);
    home.model += layer_bytes_[il];
    home.context += layer_context_[il];
    if (placed.layer_device[il] != kHost) continue;
    use.spilled_bytes += layer_bytes_[il];
    if (il < weights_.layers.size() && weights_.layers[il].largest_expert > 0) ++use.cpu_expert_layers;
  }
}

void MemoryModel::add_moves(const Placed& placed, ModelUse& use) const {
  int counted = -1;
  for (const Move& move : placed.moves) {
    const int home = placed.layer_device[static_cast<std::size_t>(move.layer)];
    if (home == move.device) continue;
    at(use, home).model -= move.bytes;
    at(use, move.device).model += move.bytes;
    if (home == kHost) use.spilled_bytes -= move.bytes;
    if (move.device != kHost) continue;
    use.spilled_bytes += move.bytes;
    if (move.largest_expert > 0 && move.layer != counted) ++use.cpu_expert_layers;
    counted = move.layer;
  }
}

void MemoryModel::add_compute(const Placed& placed, ModelUse& use) const {
  if (known_) {
    for (std::size_t i = 0; i < use.devices.size() && i < known_->devices.size(); ++i) {
      use.devices[i].compute = known_->devices[i];
    }
    use.host.compute = known_->host;
    return;
  }
  const ComputeAnswer answer = compute_buffers(model_, serving_, question_of(placed, weights_, devices_));
  for (std::size_t i = 0; i < use.devices.size(); ++i) use.devices[i].compute = answer.devices[i];
  use.host.compute = answer.host;
}

ModelUse MemoryModel::use(const Placed& placed) const {
  ModelUse use;
  use.devices.resize(static_cast<std::size_t>(devices_));
  add_layers(placed, use);
  add_moves(placed, use);
  add_compute(placed, use);
  return use;
}

}  // namespace k3d::planning
