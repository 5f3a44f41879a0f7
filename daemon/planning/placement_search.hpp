// From a profile's placement to where everything goes: by the engine's fit, by --n-cpu-moe and a split, or by patterns.
#pragma once

#include <array>

#include "daemon/base/result.hpp"
#include "daemon/model/plan.hpp"
#include "daemon/planning/memory_model.hpp"

namespace k3d::planning {

/// What may be used of the devices.
struct Room {
  std::vector<Bytes> free;        ///< before anything is loaded
  std::vector<MemoryUse> extras;  ///< draft and projector, per device
  Bytes reserve = 0;              ///< per device: CUDA's context and scratch
  Bytes draft = 0;                ///< part of the extras of `draft_device`
  std::size_t draft_device = 0;

  /// What the engine may take for its own figures; 0 if nothing is left.
  [[nodiscard]] std::vector<Bytes> for_engine() const;
};

struct Solution {
  Placed placed;
  PlannedPlacement planned;
  ModelUse use;             ///< without extras
  std::vector<int> layers;  ///< per device, a split layer counted where its attention is; the output with the last
};

/// Margins that a fit may be given, in MiB, largest first. 6144 is comfortable; 4096 ran in the reference deployment;
/// below 3072 there is no room for scratch and what others take meanwhile (1024 ran out of memory).
inline constexpr std::array<int, 4> kFitMargins{6144, 5120, 4096, 3072};
/// For placements that spill with every margin.
inline constexpr int kHybridMargin = 4096;

/// Never fails for want of memory: then the solution is the best try, and its use shows what overflows.
/// Error: invalid_request for rules that can't be read.
Result<Solution> solve(const MemoryModel& model, const ModelHeaders& headers, const Placement& placement,
                       const Room& room);

/// `margin_mib` for every device; one each where a draft's device must keep more: it is loaded after the fit.
std::vector<int> margin_list(int margin_mib, const Room& room);

/// A fit with the given margins in MiB: one for all devices, or one each. The margins are what covers CUDA's context
/// and scratch. What the first device needs to compute with experts in host RAM counts only if some end there.
Solution solve_fit(const MemoryModel& model, const Room& room, const std::vector<int>& margins_mib);

/// The same as an engine with CUDA comes to it: its context is gone from the free memory, and while it searches, most
/// experts are in host RAM and the first device has buffers for them. A close fit may spill here.
Solution solve_fit_carefully(const MemoryModel& model, const Room& room, const std::vector<int>& margins_mib);

}  // namespace k3d::planning
