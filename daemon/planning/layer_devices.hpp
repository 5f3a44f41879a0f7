// Which device holds which layer when the engine splits a model by layers.
#pragma once

#include <vector>

namespace k3d::planning {

inline constexpr int kHost = -1;  ///< as a device: host RAM and the CPU

/// Device of each layer; the output is the last element. llama.cpp (llama-model.cpp, load_tensors): weights per device
/// are cumulated and normalised in single precision; of the `gpu_layers` last layers and the output, layer i of n
/// is on the first device d with s[d] > i / n. Layers before those are on the CPU.
/// `split` has one weight per device: --tensor-split, or each device's free memory. No devices: all on the host.
std::vector<int> layer_devices(int layers, int gpu_layers, const std::vector<double>& split);

}  // namespace k3d::planning
