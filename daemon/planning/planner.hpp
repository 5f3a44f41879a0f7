// Would this profile run on these GPUs, and how: the one question that planning answers. Pure: no I/O, no clock.
// Owns: the question's values. The parts of the answer are memory_*, placement_*, fit_*, capacity, explain.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "daemon/model/plan.hpp"
#include "daemon/model/settings.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::planning {

/// A GPU that the engine may use, in the order in which the engine counts them.
struct GpuMemory {
  int index = 0;  ///< as nvidia-smi counts, for the answer
  Bytes total_bytes = 0;
  Bytes free_bytes = 0;  ///< before the engine starts; what an engine holds that is stopped first counts as free
};

struct HostRam {
  Bytes total_bytes = 0;
  Bytes available_bytes = 0;  ///< with what an engine holds that is stopped first
};

struct DraftModel {
  std::shared_ptr<const ModelHeaders> model;  ///< null for drafts without one (n-grams)
  int n_max = 0;                              ///< tokens drafted at most
};

/// Compute buffers of an earlier load with the same model, placement, ubatch, context and slots.
struct MeasuredCompute {
  std::vector<Bytes> devices;  ///< one per GPU
  Bytes host_bytes = 0;
};

struct PlanInputs {
  Profile profile;  ///< placement, context, slots, batch, ubatch, cache_type, cache_ram, ctx_checkpoints count
  std::shared_ptr<const ModelHeaders> model;
  Bytes mmproj_bytes = 0;           ///< 0: no vision
  std::optional<DraftModel> draft;  ///< of profile.speculative; nothing though that names a model: not known yet
  std::vector<GpuMemory> gpus;      ///< empty: everything runs on the CPU
  std::optional<HostRam> ram;       ///< nothing: unknown, then nothing is said of it
  std::optional<MeasuredCompute> measured;
  std::optional<double> load_bytes_per_second;  ///< measured on this host; nothing: no load time is told
};

/// Total: headers that can't be planned (unknown geometry) are `blocked`, with the reason.
/// Takes under 20 ms for 2,573 tensors.
Plan plan(const PlanInputs& inputs);

}  // namespace k3d::planning
