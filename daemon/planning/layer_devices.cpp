#include "daemon/planning/layer_devices.hpp"

#include <algorithm>
#include <cstddef>

namespace k3d::planning {
namespace {

std::vector<float> cumulated(const std::vector<double>& split) {
  std::vector<float> sums;
  float sum = 0;
  for (const double weight : split) sums.push_back(sum += static_cast<float>(weight));
  for (float& s : sums) s /= sum;
  return sums;
}

}  // namespace

std::vector<int> layer_devices(int layers, int gpu_layers, const std::vector<double>& split) {
  std::vector<int> devices(static_cast<std::size_t>(layers) + 1, kHost);
  if (std::none_of(split.begin(), split.end(), [](double weight) { return weight > 0; })) return devices;
  const std::vector<float> sums = cumulated(split);
  const int offloaded = std::clamp(gpu_layers, 0, layers + 1);
  const int start = layers + 1 - offloaded;
  for (int il = start; il <= layers; ++il) {
    const float at = static_cast<float>(il - start) / static_cast<float>(offloaded);
    const auto device = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
    devices[static_cast<std::size_t>(il)] = std::min(static_cast<int>(device), static_cast<int>(sums.size()) - 1);
  }
  return devices;
}

}  // namespace k3d::planning
