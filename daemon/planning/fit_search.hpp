// What the engine's own --fit will choose: its search, step by step, over the memory model instead of the engine.
// Not here: which margins to give it (fit_margins.hpp).
#pragma once

#include <vector>

#include "daemon/planning/memory_model.hpp"

namespace k3d::planning {

/// How much of a device's first partial layer stays on it; its other partial layers keep all but the experts.
enum class Fraction { attention, up, gate, all_but_experts };

struct DeviceFill {
  int layers = 0;
  int partial = 0;  ///< of them, the last ones
  Fraction fraction = Fraction::all_but_experts;
  int overflow = kHost;  ///< where the rest of the first partial layer goes

  [[nodiscard]] int full() const { return layers - partial; }
  friend bool operator==(const DeviceFill&, const DeviceFill&) = default;
};

struct FitOutcome {
  bool unchanged = false;         ///< everything fits as the engine splits it by itself; `fills` is empty
  std::vector<DeviceFill> fills;  ///< one per device
  Placed placed;
};

/// Whether the search counts what the first device needs to compute with experts in host RAM while some are there.
enum class Offload { counted, ignored };

/// Source: llama.cpp common/fit.cpp, common_params_fit_impl, for a given context (never reduced): dense layers back to
/// front, then full layers front to back by false position, then one more layer split onto the next device.
/// `free` as the engine sees it (cudaMemGetInfo), `margins` one per device. Needs at least one device.
FitOutcome search_fit(const MemoryModel& model, const std::vector<Bytes>& free, const std::vector<Bytes>& margins,
                      Offload offload = Offload::counted);

}  // namespace k3d::planning
