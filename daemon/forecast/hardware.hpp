// Pure: the GPUs and the memory that a plan may count on.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/gpu.hpp"
#include "daemon/planning/planner.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::forecast {

struct Hardware {
  std::vector<planning::GpuMemory> gpus;
  std::vector<std::string> names;  ///< of the GPUs' models, by NVML; one that is only known by its memory has none
  std::optional<planning::HostRam> ram;

  /// Each model once; what has no name is "a GPU of unknown model".
  [[nodiscard]] std::vector<std::string> models() const;
};

/// Whether the question can only be answered with this host's GPUs.
bool needs_gpus(const PlanQuestion& question, const Profile& profile);

/// The GPUs of `question`, else of `profile`. What `engine` holds of them (the container of ours that runs; empty: none)
/// counts as free. Error invalid_request, naming the GPU that isn't there.
Result<Hardware> choose_gpus(const PlanQuestion& question, const Profile& profile, const std::vector<GpuState>& gpus,
                             const std::string& engine);

}  // namespace k3d::forecast
