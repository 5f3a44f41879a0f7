// The catalogue of failures: what ended an engine, from its exit code, the OOM flag and its last lines. Pure data and
// matching. Order matters: the first row whose evidence is there names the failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/units.hpp"
#include "daemon/model/failure.hpp"

namespace k3d::engine {

struct Evidence {
  std::optional<int> exit_code;
  bool oom_killed = false;
  bool ready = false;  ///< it had answered before
  std::vector<std::string> lines;
};

/// Never fails: what no row knows is `crash` or `killed` by its signal, else `exited`.
Failure classify(const Evidence& evidence);

/// An engine that showed no sign of life for `limit` while loading.
Failure load_stalled(const std::string& profile, std::uint64_t attempt, seconds limit, std::vector<std::string> lines);

/// A log line made safe to show: no escapes, no control bytes, UTF-8.
std::string printable(std::string_view line);

}  // namespace k3d::engine
