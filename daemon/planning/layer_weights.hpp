// Bytes of the weights, per layer and by the parts that llama.cpp can place on their own.
// Not here: where they go (layer_devices.hpp, placement_rules.hpp).
#pragma once

#include <array>
#include <vector>

#include "daemon/planning/architecture.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::planning {

/// Parts of a layer by the tensor's name, so that every pattern of llama.cpp's fit is a union of them.
enum Part : unsigned {
  kGateExperts = 1U << 0,  ///< ffn_gate_exps, ffn_gate_chexps
  kUpExperts = 1U << 1,
  kGateUpExperts = 1U << 2,
  kDownExperts = 1U << 3,
  kGate = 1U << 4,  ///< ffn_gate*: also the router (ffn_gate_inp) and shared experts
  kUp = 1U << 5,
  kGateUp = 1U << 6,
  kDown = 1U << 7,
  kRest = 1U << 8,
};
inline constexpr std::size_t kParts = 9;
/// `ffn_(up|down|gate_up|gate)_(ch|)exps`: what --n-cpu-moe moves.
inline constexpr unsigned kExperts = kGateExperts | kUpExperts | kGateUpExperts | kDownExperts;

struct LayerWeights {
  std::array<Bytes, kParts> parts{};
  Bytes largest_expert = 0;  ///< of the layer's expert tensors

  [[nodiscard]] Bytes sum(unsigned of) const;
  [[nodiscard]] Bytes total() const { return sum((1U << kParts) - 1); }
};

struct ModelWeights {
  std::vector<LayerWeights> layers;  ///< Architecture::layers
  Bytes input = 0;                   ///< token embeddings: always in host RAM (llama-model.cpp, dev_input)
  Bytes output = 0;                  ///< counts as one more layer, the last
};

/// A tensor outside of the layers that is not the input belongs to the output. Without an output.weight the
/// embeddings are loaded a second time as the output (tied).
ModelWeights weigh(const ModelHeaders& headers, const Architecture& model);

/// The layer of `blk.N.…`; -1 for the input, `layers` for the output.
int layer_of(const std::string& tensor, int layers);

/// Which part of its layer a tensor is.
Part part_of(const std::string& tensor);

}  // namespace k3d::planning
