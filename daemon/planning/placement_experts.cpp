#include "daemon/planning/placement_experts.hpp"

#include <algorithm>
#include <cstdint>

namespace k3d::planning {
namespace {

/// Compute buffers depend on where layers begin, which depends on the buffers: so often they are asked again.
constexpr int kRounds = 4;
constexpr std::int64_t kSlackStep = 16 * static_cast<std::int64_t>(kMiB);

using Sizes = std::vector<std::int64_t>;

/// What each layer takes of its device, with the output as the last.
Sizes layer_sizes(const MemoryModel& model, int cpu_layers) {
  Sizes sizes;
  for (std::size_t il = 0; il < model.weights().layers.size(); ++il) {
    const LayerWeights& layer = model.weights().layers[il];
    const LayerState& state = model.architecture().states[il];
    const Bytes context = cache_bytes(state, model.serving()) + recurrent_bytes(state, model.serving());
    const bool freed = static_cast<int>(il) < cpu_layers;
    sizes.push_back(static_cast<std::int64_t>(layer.total() - (freed ? layer.sum(kExperts) : 0) + context));
  }
  sizes.push_back(static_cast<std::int64_t>(model.weights().output));
  return sizes;
}

/// Front to back, each device as full as it gets: if any split fits, this one does. Empty if none does.
std::vector<int> filled(const Sizes& sizes, const Sizes& caps) {
  std::vector<int> layers(caps.size(), 0);
  std::size_t il = 0;
  for (std::size_t id = 0; id < caps.size(); ++id) {
    for (std::int64_t used = 0; il < sizes.size() && used + sizes[il] <= caps[id]; ++il) {
      used += sizes[il];
      ++layers[id];
    }
  }
  return il == sizes.size() ? layers : std::vector<int>{};
}

Placed place(const MemoryModel& model, const std::vector<int>& layers, int cpu_layers) {
  const std::vector<double> split(layers.begin(), layers.end());
  const int count = model.architecture().layers;
  return model.with_cpu_experts(layer_devices(count, count + 1, split), cpu_layers);
}

bool fits(const ModelUse& use, const std::vector<Bytes>& room, std::int64_t slack) {
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (static_cast<std::int64_t>(use.devices[i].total()) + slack > static_cast<std::int64_t>(room[i])) return false;
  }
  return true;
}

/// A split that leaves every device at least `slack`; empty if none was found.
std::vector<int> split_with(const MemoryModel& model, int cpu_layers, const Sizes& sizes,
                            const std::vector<Bytes>& room, std::int64_t slack) {
  Sizes compute(room.size(), 0);
  for (int round = 0; round < kRounds; ++round) {
    Sizes caps;
    for (std::size_t i = 0; i < room.size(); ++i) {
      caps.push_back(static_cast<std::int64_t>(room[i]) - compute[i] - slack);
    }
    std::vector<int> layers = filled(sizes, caps);
    if (layers.empty()) return {};
    const ModelUse use = model.use(place(model, layers, cpu_layers));
    if (fits(use, room, slack)) return layers;
    for (std::size_t i = 0; i < room.size(); ++i) {
      compute[i] = std::max(compute[i], static_cast<std::int64_t>(use.devices[i].compute));
    }
  }
  return {};
}

}  // namespace

std::optional<ExpertSplit> best_split(const MemoryModel& model, int cpu_layers, const std::vector<Bytes>& room) {
  const Sizes sizes = layer_sizes(model, cpu_layers);
  std::vector<int> best = split_with(model, cpu_layers, sizes, room, 0);
  if (best.empty()) return std::nullopt;
  std::int64_t low = 0, high = static_cast<std::int64_t>(*std::max_element(room.begin(), room.end())) / kSlackStep;
  while (low + 1 < high) {
    const std::int64_t middle = (low + high) / 2;
    std::vector<int> layers = split_with(model, cpu_layers, sizes, room, middle * kSlackStep);
    (layers.empty() ? high : low) = middle;
    if (!layers.empty()) best = std::move(layers);
  }
  return ExpertSplit{cpu_layers, std::move(best)};
}

std::optional<ExpertSplit> smallest_split(const MemoryModel& model, const std::vector<Bytes>& room) {
  for (int cpu_layers = 0; cpu_layers <= model.architecture().layers; ++cpu_layers) {
    if (split_with(model, cpu_layers, layer_sizes(model, cpu_layers), room, 0).empty()) continue;
    return best_split(model, cpu_layers, room);
  }
  return std::nullopt;
}

std::optional<ExpertSplit> smallest_for(const MemoryModel& model, const std::vector<double>& split,
                                        const std::vector<Bytes>& room) {
  const int layers = model.architecture().layers;
  const std::vector<int> devices = layer_devices(layers, layers + 1, split);
  ExpertSplit found;
  for (std::size_t i = 0; i < room.size(); ++i) {
    found.layers.push_back(static_cast<int>(std::count(devices.begin(), devices.end(), static_cast<int>(i))));
  }
  for (; found.cpu_layers <= layers; ++found.cpu_layers) {
    if (fits(model.use(model.with_cpu_experts(devices, found.cpu_layers)), room, 0)) return found;
  }
  return std::nullopt;
}

}  // namespace k3d::planning
