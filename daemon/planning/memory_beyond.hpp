// What a GPU must hold besides the engine's own figures: CUDA's context and scratch, a draft model, a vision projector;
// and what the host holds besides weights: prompt cache and context checkpoints.
#pragma once

#include "daemon/planning/memory_model.hpp"
#include "daemon/planning/planner.hpp"

namespace k3d::planning {

/// Of every device that a process uses. Measured: 529 MiB by NVML on H200, driver 580, before the first allocation.
/// The engine's fit sees free memory less this.
inline constexpr Bytes kCudaContext = 530 * kMiB;

/// CUDA's pool grows with the first long prompts, and no projection counts it. Measured on H200: 714 MiB per device at
/// ubatch 2048, 1,800 at 4096; straight lines between and beyond, 256 at least.
Bytes cuda_scratch(int ubatch);

/// A draft model on one device: all of its weights, an F16 cache for every token of the context, compute buffers.
MemoryUse draft_use(const ModelHeaders& draft, const Serving& serving);

/// The projector's weights and, unmeasured, 1 GiB to encode an image with.
MemoryUse projector_use(Bytes mmproj_bytes);

struct HostCaches {
  Bytes prompt_cache = 0;
  int checkpoints = 0;  ///< per slot
};

/// The profile's, or by RAM: a sixteenth for the cache (1 to 64 GiB, steps of 256 MiB), a sixteenth for the checkpoints
/// of all slots (2 to 32 each). RAM unknown: llama-server's own 8 GiB and 32.
HostCaches host_caches(const Profile& profile, const std::optional<HostRam>& ram, Bytes checkpoint);

}  // namespace k3d::planning
