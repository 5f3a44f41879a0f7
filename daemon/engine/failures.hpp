// What ended an engine, by name, from its exit code, what Docker says and the end of its log. Pure. The catalogue's
// data: failure_kinds, failure_signs (the log), failure_ends (the exit).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/units.hpp"
#include "daemon/model/failure.hpp"

namespace k3d::engine {

/// Of an end that nobody asked k3d for.
struct Evidence {
  std::optional<int> exit_code;   ///< nothing if nobody knows
  bool oom_killed = false;        ///< by Docker's word: of any process in the container
  bool docker_restarted = false;  ///< Docker was gone around the end
  /// Around the end the kernel killed a process for want of memory (oom_kill of /proc/vmstat grew). Docker's flag
  /// misses what is no limit of the container's own, and on a busy host that too.
  bool kernel_oom = false;
  bool ready = false;              ///< it served before it ended
  std::vector<std::string> lines;  ///< the end of its log, raw
};

/// Always names something; `crash` if nothing fits. Leaves profile, operation_id, attempt and at to the caller.
Failure classify(const Evidence& evidence);

/// A load in which nothing moved for `limit`. `numa_balancing`: the kernel moves pages between nodes meanwhile.
Failure load_stalled(const std::string& profile, std::uint64_t attempt, seconds limit,
                     const std::vector<std::string>& lines, bool numa_balancing = false);

/// Code, title, advice and retryable of the catalogue's `code`; nothing if it has none of that name.
std::optional<Failure> catalogued(std::string_view code);

}  // namespace k3d::engine
