#include "daemon/engine/batches.hpp"

#include <algorithm>

#include "daemon/engine/placement_flags.hpp"

namespace k3d::engine {
namespace {

constexpr int kHybridBatch = 4096;  ///< each micro-batch copies all CPU experts to a GPU: few and large ones
constexpr int kResidentBatch = 2048;

}  // namespace

Batches batches_of(const Profile& profile) {
  const bool hybrid = profile.gpus.choice != GpuChoice::none && is_hybrid(profile.placement);
  const int fitting = hybrid ? kHybridBatch : kResidentBatch;
  const int batch = profile.batch.value_or(std::max(fitting, profile.ubatch.value_or(0)));
  return {batch, profile.ubatch.value_or(std::min(fitting, batch))};
}

}  // namespace k3d::engine
