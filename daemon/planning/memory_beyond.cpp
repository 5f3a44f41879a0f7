#include "daemon/planning/memory_beyond.hpp"

#include <algorithm>

namespace k3d::planning {
namespace {

constexpr Bytes kMinScratch = 256 * kMiB;
constexpr double kScratchAt2048 = 714, kScratchAt4096 = 1800;  // MiB

constexpr Bytes kImageCompute = kGiB;

constexpr Bytes kRamShare = 16;
constexpr Bytes kMinCache = kGiB, kMaxCache = 64 * kGiB, kCacheStep = 256 * kMiB, kEngineCache = 8 * kGiB;
constexpr Bytes kMinCheckpoints = 2, kMaxCheckpoints = 32;

Bytes prompt_cache(Bytes ram) {
  const Bytes share = std::clamp(ram / kRamShare, kMinCache, kMaxCache);
  return (share + kCacheStep / 2) / kCacheStep * kCacheStep;
}

Bytes checkpoints(Bytes ram, int slots, Bytes checkpoint) {
  const Bytes one_per_slot = static_cast<Bytes>(std::max(slots, 1)) * std::max<Bytes>(checkpoint, 1);
  return std::clamp(ram / kRamShare / one_per_slot, kMinCheckpoints, kMaxCheckpoints);
}

}  // namespace

Bytes cuda_scratch(int ubatch) {
  const double tokens = ubatch;
  const double mib = ubatch <= 2048 ? kScratchAt2048 * tokens / 2048
                                    : kScratchAt2048 + (kScratchAt4096 - kScratchAt2048) * (tokens - 2048) / 2048;
  return std::max(kMinScratch, static_cast<Bytes>(mib) * kMiB);
}

MemoryUse draft_use(const ModelHeaders& draft, const Serving& serving) {
  MemoryUse use;
  for (const TensorInfo& tensor : draft.tensors) use.model += tensor.bytes;
  const auto architecture = read_architecture(draft);
  if (!architecture) return use;
  Serving served = serving;
  served.rollback = 0;
  served.cache = ggml_type("F16");
  for (const LayerState& layer : architecture->states) {
    use.context += cache_bytes(layer, served) + recurrent_bytes(layer, served);
  }
  ComputeQuestion question;
  question.devices.push_back({0, architecture->layers, 0});
  use.compute = compute_buffers(*architecture, served, question).devices.front();
  return use;
}

MemoryUse projector_use(Bytes mmproj_bytes) {
  return mmproj_bytes == 0 ? MemoryUse{} : MemoryUse{mmproj_bytes, 0, kImageCompute};
}

HostCaches host_caches(const Profile& profile, const std::optional<HostRam>& ram, Bytes checkpoint) {
  HostCaches caches{kEngineCache, static_cast<int>(kMaxCheckpoints)};
  if (ram) {
    caches.prompt_cache = prompt_cache(ram->total_bytes);
    caches.checkpoints = static_cast<int>(checkpoints(ram->total_bytes, profile.slots, checkpoint));
  }
  caches.prompt_cache = profile.cache_ram.value_or(caches.prompt_cache);
  caches.checkpoints = profile.ctx_checkpoints.value_or(caches.checkpoints);
  return caches;
}

}  // namespace k3d::planning
