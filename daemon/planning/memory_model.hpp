// The engine's memory for a given placement: weights, context and compute buffers, per device and on the host.
// Not here: how a placement is found (fit_search.hpp, placement_experts.hpp), what CUDA takes beyond
// (memory_reserve.hpp).
#pragma once

#include <optional>
#include <vector>

#include "daemon/planning/architecture.hpp"
#include "daemon/planning/layer_devices.hpp"
#include "daemon/planning/layer_weights.hpp"
#include "daemon/planning/memory_compute.hpp"
#include "daemon/planning/memory_context.hpp"

namespace k3d::planning {

/// Weights of a layer that are not on the layer's own device.
struct Move {
  int layer = 0;
  int device = kHost;
  Bytes bytes = 0;
  Bytes largest_expert = 0;  ///< largest expert tensor among them; 0: no experts

  friend bool operator==(const Move&, const Move&) = default;
};

struct Placed {
  std::vector<int> layer_device;  ///< Architecture::layers + 1
  std::vector<Move> moves;
  bool overrides = false;  ///< the engine is given patterns, even if they move nothing
  bool offload = true;     ///< the first device computes with experts that are in host RAM
};

struct MemoryUse {
  Bytes model = 0, context = 0, compute = 0;

  [[nodiscard]] Bytes total() const { return model + context + compute; }
};

struct ModelUse {
  std::vector<MemoryUse> devices;
  MemoryUse host;
  int cpu_expert_layers = 0;  ///< layers with expert tensors in host RAM
  Bytes spilled_bytes = 0;    ///< weights in host RAM besides the input embeddings
};

struct KnownCompute {
  std::vector<Bytes> devices;
  Bytes host = 0;
};

class MemoryModel {
 public:
  MemoryModel(Architecture model, ModelWeights weights, Serving serving, int devices,
              std::optional<KnownCompute> known = std::nullopt);

  [[nodiscard]] ModelUse use(const Placed& placed) const;

  [[nodiscard]] const Architecture& architecture() const { return model_; }
  [[nodiscard]] const ModelWeights& weights() const { return weights_; }
  [[nodiscard]] const Serving& serving() const { return serving_; }
  [[nodiscard]] int devices() const { return devices_; }

  /// The same model, served otherwise.
  [[nodiscard]] MemoryModel with(const Serving& serving) const;

  /// Moves the experts of the first `count` layers to the host, as --n-cpu-moe does.
  [[nodiscard]] Placed with_cpu_experts(std::vector<int> layer_device, int count) const;
  [[nodiscard]] Move move_of(int layer, unsigned parts, int device) const;

 private:
  void add_layers(const Placed& placed, ModelUse& use) const;
  void add_moves(const Placed& placed, ModelUse& use) const;
  void add_compute(const Placed& placed, ModelUse& use) const;

  Architecture model_;
  ModelWeights weights_;
  Serving serving_;
  int devices_;
  std::optional<KnownCompute> known_;
  std::vector<Bytes> layer_bytes_, layer_context_;  ///< per layer, with the output
};

}  // namespace k3d::planning
