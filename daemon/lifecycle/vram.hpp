// Pure: whether the GPUs are free for the next engine, and who else is on them. Not here: reading them (ports/gpu_probe),
// and waiting until they are free.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/failure.hpp"
#include "daemon/model/gpu.hpp"
#include "daemon/model/snapshot.hpp"

namespace k3d::lifecycle {

/// The processes of that container become `ours`. An empty id is no container's.
std::vector<GpuState> mark_ours(std::vector<GpuState> gpus, const std::string& container_id);

/// UUIDs of the GPUs that a launch's CDI devices are ("nvidia.com/gpu=GPU-…", "=0", "=all"). What is not there now,
/// and a part of a GPU (MIG), is left out.
std::vector<std::string> uuids_of_devices(const std::vector<std::string>& cdi_devices, const std::vector<GpuState>& gpus);

/// What the next engine will take of each GPU, by UUID; empty: unknown.
struct VramNeed {
  std::map<std::string, Bytes> per_gpu;
};

/// Nothing if the memory of the launch's GPUs is there to be used; else the failure `vram_not_released` (retryable; its
/// profile, attempt and time are left to the caller) with the numbers and the holders. A GPU is in the way while a process
/// of ours is on it, while over 1 GiB of it is used that no process accounts for, or while less than `need` is free.
std::optional<Failure> vram_in_the_way(const std::vector<GpuState>& gpus, const std::vector<std::string>& uuids_of_launch,
                                       const VramNeed& need);

/// The condition foreign_gpu_processes: whoever else is on these GPUs.
std::optional<Condition> foreign_gpu_processes(const std::vector<GpuState>& gpus,
                                               const std::vector<std::string>& uuids_of_profile);

}  // namespace k3d::lifecycle
