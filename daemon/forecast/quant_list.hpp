// Which quants there are, and whether each would run here with default settings. Blocking, and of the planning
// executor's thread, but for by_size.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "daemon/forecast/hardware.hpp"
#include "daemon/forecast/headers_cache.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::forecast {

/// By model, then by size. `hardware`: nothing if the GPUs can't be read now, then no verdict is told.
std::vector<QuantView> list_quants(HeadersCache& cache, const std::shared_ptr<const Settings>& settings,
                                   const std::optional<Hardware>& hardware);

/// Pure: the verdict that the bytes alone allow, and the reason that says so. Nothing where it can't be told.
void by_size(const Hardware& hardware, QuantView& view);

}  // namespace k3d::forecast
