// Compute buffers of an engine with CUDA: what its graph needs besides weights and context.
// The engine's allocator decides them, so these are fits to what real GPUs reported (tests/golden/planning/
// cuda-2xH200.txt, Kimi-K3), not derivations; for other architectures they are estimates.
#pragma once

#include <vector>

#include "daemon/planning/architecture.hpp"
#include "daemon/planning/memory_context.hpp"

namespace k3d::planning {

/// What of a placement the compute buffers depend on.
struct ComputeQuestion {
  struct Device {
    int first_layer = 0;
    int layers = 0;            ///< with the output
    Bytes largest_expert = 0;  ///< largest expert tensor of its layers that is in host RAM
  };
  std::vector<Device> devices;
  bool overrides = false;  ///< some tensor is not where its layer is
  bool whole = true;       ///< all layers and the output are on devices
  bool offload = true;     ///< the first device computes with experts that are in host RAM
  Bytes first_expert = 0;  ///< size of the first expert tensor that is in host RAM; 0: none is
};

struct ComputeAnswer {
  std::vector<Bytes> devices;
  Bytes host = 0;
};

ComputeAnswer compute_buffers(const Architecture& model, const Serving& serving, const ComputeQuestion& question);

}  // namespace k3d::planning
