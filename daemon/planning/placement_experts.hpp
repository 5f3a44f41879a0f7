// --n-cpu-moe with the layer split that it needs. It frees the first layers, so the first GPUs: with the engine's plain
// split those idle while the later ones overflow.
#pragma once

#include <optional>
#include <vector>

#include "daemon/planning/memory_model.hpp"

namespace k3d::planning {

struct ExpertSplit {
  int cpu_layers = 0;       ///< --n-cpu-moe
  std::vector<int> layers;  ///< --tensor-split: layers of each device, the output with the last
};

/// The split that leaves the fullest device the most, with the experts of the first `cpu_layers` layers in host RAM.
/// `room` is what the engine may take of each device. Nothing if no split fits.
std::optional<ExpertSplit> best_split(const MemoryModel& model, int cpu_layers, const std::vector<Bytes>& room);

/// The same for the smallest number of layers for which one fits. Nothing if not even all experts in host RAM do.
std::optional<ExpertSplit> smallest_split(const MemoryModel& model, const std::vector<Bytes>& room);

/// For a given split: the smallest number of layers with which it fits.
std::optional<ExpertSplit> smallest_for(const MemoryModel& model, const std::vector<double>& split,
                                        const std::vector<Bytes>& room);

}  // namespace k3d::planning
