#include "daemon/planning/placement_search.hpp"

#include <algorithm>

#include "daemon/planning/fit_search.hpp"
#include "daemon/planning/memory_beyond.hpp"
#include "daemon/planning/placement_experts.hpp"
#include "daemon/planning/placement_rules.hpp"

namespace k3d::planning {
namespace {

constexpr int kMarginStepMib = 256;

Bytes less(Bytes of, Bytes by) {
  return of > by ? of - by : 0;
}

std::vector<int> count_layers(const Placed& placed, int devices) {
  std::vector<int> layers(static_cast<std::size_t>(devices), 0);
  for (const int device : placed.layer_device) {
    if (device != kHost) ++layers[static_cast<std::size_t>(device)];
  }
  return layers;
}

Solution finished(const MemoryModel& model, Placed placed, PlannedPlacement planned) {
  Solution solution{std::move(placed), std::move(planned), {}, {}};
  solution.use = model.use(solution.placed);
  solution.layers = count_layers(solution.placed, model.devices());
  solution.planned.cpu_expert_layers = solution.use.cpu_expert_layers;
  if (solution.planned.tensor_split.empty()) {
    solution.planned.tensor_split.assign(solution.layers.begin(), solution.layers.end());
  }
  return solution;
}

/// What the engine's fit sees as free less `context`: it counts the projector by itself, and not the draft.
std::vector<Bytes> free_for_fit(const Room& room, Bytes context) {
  std::vector<Bytes> free;
  for (std::size_t i = 0; i < room.free.size(); ++i) {
    const Bytes draft = i == room.draft_device ? room.draft : 0;
    free.push_back(less(room.free[i], context + room.extras[i].total() - draft));
  }
  return free;
}

std::vector<Bytes> in_bytes(std::vector<int> margins_mib, std::size_t devices) {
  margins_mib.resize(devices, margins_mib.back());
  std::vector<Bytes> margins;
  for (const int mib : margins_mib) margins.push_back(static_cast<Bytes>(std::max(mib, 0)) * kMiB);
  return margins;
}

/// As the engine's log counts it: the layers that overflow to host RAM, on the last device with the output.
int overflowing_to_host(const FitOutcome& outcome) {
  int layers = 0;
  for (const DeviceFill& fill : outcome.fills) {
    layers += fill.partial - (fill.partial > 0 && fill.overflow != kHost ? 1 : 0);
  }
  return layers;
}

Solution fitted(const MemoryModel& model, FitOutcome outcome, const std::vector<int>& margins_mib) {
  PlannedPlacement planned;
  planned.mode = PlacementMode::fit;
  planned.fit_target_mib = margins_mib;
  const int overflowing = overflowing_to_host(outcome);
  Solution solution = finished(model, std::move(outcome.placed), planned);
  if (overflowing > 0) solution.planned.cpu_expert_layers = overflowing;
  return solution;
}

/// `margin_mib`, or more where CUDA's context and scratch take more.
std::vector<int> covering(int margin_mib, const Room& room) {
  const Bytes step = static_cast<Bytes>(kMarginStepMib) * kMiB;
  const Bytes steps = (room.reserve + step - 1) / step;
  return margin_list(std::max(margin_mib, static_cast<int>(steps) * kMarginStepMib), room);
}

Solution fit_automatically(const MemoryModel& model, const Room& room) {
  for (const int margin : kFitMargins) {
    const std::vector<int> margins = covering(margin, room);
    if (solve_fit_carefully(model, room, margins).use.spilled_bytes == 0) return solve_fit(model, room, margins);
  }
  Solution close = solve_fit(model, room, covering(kFitMargins.back(), room));
  return close.use.spilled_bytes == 0 ? close : solve_fit(model, room, covering(kHybridMargin, room));
}

Solution fit_as_asked(const MemoryModel& model, const Placement& placement, const Room& room) {
  return placement.fit_target_mib.empty() ? fit_automatically(model, room)
                                          : solve_fit(model, room, placement.fit_target_mib);
}

std::vector<double> in_layers(const ExpertSplit& split) {
  return {split.layers.begin(), split.layers.end()};
}

/// The engine's own split where none is given: by free memory.
std::vector<double> plain_split(const Room& room) {
  std::vector<double> split;
  for (const Bytes free : room.free) split.push_back(static_cast<double>(less(free, kCudaContext)));
  return split;
}

/// The engine takes no more of a split than it has devices.
Placement within(const Room& room, Placement placement) {
  if (!placement.tensor_split.empty()) placement.tensor_split.resize(room.free.size(), 0.0);
  return placement;
}

/// What the settings leave open is searched for. If nothing fits: all experts in host RAM, or the number given.
std::optional<ExpertSplit> search_experts(const MemoryModel& model, const Placement& placement,
                                          const std::vector<Bytes>& room) {
  if (placement.n_cpu_moe && placement.tensor_split.empty()) return best_split(model, *placement.n_cpu_moe, room);
  if (!placement.n_cpu_moe && placement.tensor_split.empty()) return smallest_split(model, room);
  if (!placement.n_cpu_moe) return smallest_for(model, placement.tensor_split, room);
  return ExpertSplit{*placement.n_cpu_moe, {}};
}

Solution solve_experts(const MemoryModel& model, const Placement& placement, const Room& room) {
  PlannedPlacement planned;
  planned.mode = PlacementMode::n_cpu_moe;
  planned.tensor_split = placement.tensor_split;
  const auto found = search_experts(model, placement, room.for_engine());
  planned.n_cpu_moe = found ? found->cpu_layers : placement.n_cpu_moe.value_or(model.architecture().layers);
  if (planned.tensor_split.empty()) planned.tensor_split = found ? in_layers(*found) : plain_split(room);
  const int layers = model.architecture().layers;
  auto devices = layer_devices(layers, layers + 1, planned.tensor_split);
  if (!found) planned.tensor_split = placement.tensor_split;  // shown as layers, not as bytes
  return finished(model, model.with_cpu_experts(std::move(devices), *planned.n_cpu_moe), planned);
}

Result<Solution> solve_rules(const MemoryModel& model, const ModelHeaders& headers, const Placement& placement,
                             const Room& room) {
  PlannedPlacement planned;
  planned.mode = placement.mode;
  planned.tensors = placement.tensors;
  planned.tensor_split = placement.tensor_split;
  auto moves = moves_of_rules(placement.tensors, headers, model.architecture(), model.devices());
  if (!moves) return fail(moves.error());
  const int layers = model.architecture().layers;
  const std::vector<double> split = placement.tensor_split.empty() ? plain_split(room) : placement.tensor_split;
  return finished(model, Placed{layer_devices(layers, layers + 1, split), std::move(*moves), true}, planned);
}

}  // namespace

std::vector<int> margin_list(int margin_mib, const Room& room) {
  if (room.draft == 0) return {margin_mib};
  std::vector<int> margins(room.free.size(), margin_mib);
  const auto draft_mib = static_cast<int>((room.draft + kMiB - 1) / kMiB);
  margins[room.draft_device] += (draft_mib + kMarginStepMib - 1) / kMarginStepMib * kMarginStepMib;
  return margins;
}

std::vector<Bytes> Room::for_engine() const {
  std::vector<Bytes> room;
  for (std::size_t i = 0; i < free.size(); ++i) room.push_back(less(free[i], reserve + extras[i].total()));
  return room;
}

Solution solve_fit(const MemoryModel& model, const Room& room, const std::vector<int>& margins_mib) {
  const std::vector<Bytes> free = free_for_fit(room, 0), margins = in_bytes(margins_mib, free.size());
  Solution resident = fitted(model, search_fit(model, free, margins, Offload::ignored), margins_mib);
  if (resident.use.spilled_bytes == 0) return resident;
  return fitted(model, search_fit(model, free, margins), margins_mib);
}

Solution solve_fit_carefully(const MemoryModel& model, const Room& room, const std::vector<int>& margins_mib) {
  const std::vector<Bytes> free = free_for_fit(room, kCudaContext);
  return fitted(model, search_fit(model, free, in_bytes(margins_mib, free.size())), margins_mib);
}

Result<Solution> solve(const MemoryModel& model, const ModelHeaders& headers, const Placement& asked,
                       const Room& room) {
  const Placement placement = within(room, asked);
  if (room.free.empty()) {
    PlannedPlacement planned;
    planned.mode = placement.mode;
    return finished(model, Placed{layer_devices(model.architecture().layers, 0, {}), {}, false}, planned);
  }
  // Whoever remembers a pinned placement has put its rules in; until there is one, a fit finds it.
  const bool unpinned = placement.tensors.empty() && placement.tensor_split.empty();
  switch (placement.mode) {
    case PlacementMode::fit:
      return fit_as_asked(model, placement, room);
    case PlacementMode::n_cpu_moe:
      return solve_experts(model, placement, room);
    case PlacementMode::override_tensors:
      return solve_rules(model, headers, placement, room);
    case PlacementMode::pinned:
      return unpinned ? fit_as_asked(model, placement, room) : solve_rules(model, headers, placement, room);
  }
  return fail(Code::internal, "a placement of no mode");
}

}  // namespace k3d::planning
