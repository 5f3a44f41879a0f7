#include "daemon/planning/layer_weights.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>

namespace k3d::planning {
namespace {

/// "blk.12.ffn_up.weight" without "blk.12."; empty for other tensors.
std::string_view within_layer(std::string_view tensor, int* layer) {
  if (!tensor.starts_with("blk.")) return {};
  const char* begin = tensor.data() + 4;
  const char* end = tensor.data() + tensor.size();
  const auto [after, error] = std::from_chars(begin, end, *layer);
  if (error != std::errc{} || after == end || *after != '.' || *layer < 0) return {};
  return {after + 1, static_cast<std::size_t>(end - after - 1)};
}

struct Kind {
  std::string_view prefix;
  Part experts, other;
};
/// The longer name first.
constexpr std::array<Kind, 4> kKinds{{{"ffn_gate_up", kGateUpExperts, kGateUp},
                                      {"ffn_gate", kGateExperts, kGate},
                                      {"ffn_up", kUpExperts, kUp},
                                      {"ffn_down", kDownExperts, kDown}}};

/// Embeddings of tokens, positions and types: computed on the CPU.
bool is_input(std::string_view tensor) {
  return tensor.starts_with("token_embd") || tensor.starts_with("position_embd") || tensor.starts_with("token_types");
}

void add(LayerWeights& layer, const TensorInfo& tensor) {
  const Part part = part_of(tensor.name);
  layer.parts[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(part)))] += tensor.bytes;
  if ((part & kExperts) != 0) layer.largest_expert = std::max(layer.largest_expert, tensor.bytes);
}

}  // namespace

Bytes LayerWeights::sum(unsigned of) const {
  Bytes bytes = 0;
  for (std::size_t i = 0; i < kParts; ++i) bytes += (of >> i & 1U) != 0 ? parts[i] : 0;
  return bytes;
}

int layer_of(const std::string& tensor, int layers) {
  int layer = 0;
  if (!within_layer(tensor, &layer).empty()) return layer;
  return is_input(tensor) ? -1 : layers;
}

Part part_of(const std::string& tensor) {
  int layer = 0;
  const std::string_view name = within_layer(tensor, &layer);
  const auto* kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return name.starts_with(k.prefix); });
  if (kind == kKinds.end()) return kRest;
  const std::string_view rest = name.substr(kind->prefix.size());
  return rest.starts_with("_exps") || rest.starts_with("_chexps") ? kind->experts : kind->other;
}

ModelWeights weigh(const ModelHeaders& headers, const Architecture& model) {
  ModelWeights weights;
  weights.layers.resize(static_cast<std::size_t>(model.layers));
  bool tied = true;
  for (const TensorInfo& tensor : headers.tensors) {
    int layer = 0;
    if (!within_layer(tensor.name, &layer).empty()) {
      if (layer < model.layers) add(weights.layers[static_cast<std::size_t>(layer)], tensor);
    } else if (is_input(tensor.name)) {
      weights.input += tensor.bytes;
    } else {
      weights.output += tensor.bytes;
      tied = tied && tensor.name != "output.weight";
    }
  }
  if (tied) weights.output += weights.input;
  return weights;
}

}  // namespace k3d::planning
