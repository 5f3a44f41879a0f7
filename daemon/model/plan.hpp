// The computed answer to "would it run, and how": made by planning, shown by api/contract, launched by lifecycle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/units.hpp"
#include "daemon/model/settings.hpp"

namespace k3d {

enum class Verdict { all_vram, hybrid, too_big, blocked };
/// Where a plan's figures come from: formulas, formulas with what earlier loads measured, or the engine's own dry run.
enum class PlanBasis { computed, measured, engine };

/// What there is too little of, and by how much.
struct PlanBreak {
  enum class Resource { vram, ram, disk, context, flag, quant };
  Resource resource = Resource::vram;
  std::optional<int> device;  ///< index of the GPU
  Bytes need_bytes = 0, have_bytes = 0;

  friend bool operator==(const PlanBreak&, const PlanBreak&) = default;
};

struct PlannedDevice {
  int index = 0;
  double layers = 0;  ///< a layer that is split between two devices counts for the one that has its attention
  Bytes model_bytes = 0, context_bytes = 0, compute_bytes = 0;
  Bytes reserve_bytes = 0;  ///< what CUDA takes beyond the engine's own figures
  Bytes free_bytes = 0;     ///< before the load
  std::int64_t left_bytes = 0;  ///< free minus all of the above; negative: it does not fit
};

struct PlannedHost {
  Bytes model_bytes = 0, context_bytes = 0, compute_bytes = 0;
  Bytes cache_bytes = 0;  ///< prompt cache and context checkpoints at their limits
  Bytes ram_bytes = 0;    ///< what the host has
  std::int64_t left_bytes = 0;
};

struct PlannedPlacement {
  PlacementMode mode = PlacementMode::fit;
  std::optional<int> n_cpu_moe;
  std::vector<double> tensor_split;
  std::vector<int> fit_target_mib;
  std::vector<std::string> tensors;  ///< "REGEX=DEVICE"
  int cpu_expert_layers = 0;         ///< layers with experts in host RAM
};

struct Capacity {
  int context = 0;  ///< tokens of one sequence
  std::string cache_type;
  int sequences = 0;
};

struct Plan {
  Verdict verdict = Verdict::blocked;
  std::vector<std::string> reasons;   ///< why this verdict, in words; the first says what breaks, if something does
  std::vector<std::string> warnings;  ///< what will run, but worse than it could
  std::vector<PlanBreak> breaks;      ///< what doesn't fit, the first line first
  std::vector<PlannedDevice> devices;
  PlannedHost host;
  PlannedPlacement placement;
  std::vector<Capacity> capacity;
  int batch = 0, ubatch = 0;  ///< tokens: the profile's, or what suits the placement
  int shards = 0;
  Bytes total_bytes = 0;                 ///< of the model's files
  std::optional<double> load_seconds;    ///< nothing: unknown
  PlanBasis basis = PlanBasis::computed;
};

}  // namespace k3d
