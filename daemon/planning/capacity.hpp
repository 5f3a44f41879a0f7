// How many sequences a plan's memory would hold: the same weights in the same places, other slots and contexts.
#pragma once

#include <vector>

#include "daemon/model/plan.hpp"
#include "daemon/planning/placement_search.hpp"

namespace k3d::planning {

/// For 8K, 32K, 128K and 1M tokens a sequence and the cache types f16, q8_0 and q4_0: the most slots, up to the
/// engine's 256 (LLAMA_MAX_SEQ), for which every device and the host (`host_bytes`, without caches) have room.
/// Types that the model's rows don't fit are left out, and contexts beyond what it was trained for.
std::vector<Capacity> capacities(const MemoryModel& model, const Solution& solution, const Room& room,
                                 std::optional<Bytes> host_bytes);

}  // namespace k3d::planning
