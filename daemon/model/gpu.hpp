// A GPU of this host as its driver sees it now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/units.hpp"

namespace k3d {

struct GpuProcess {
  int pid = 0;
  std::string name;                  ///< of /proc/PID/comm; empty if it is gone or hidden
  std::optional<Bytes> memory_bytes; ///< nothing if the driver doesn't tell
  std::string container;             ///< Docker's id, by /proc/PID/cgroup; empty: none
  bool ours = false;                 ///< of the engine that runs or was stopped last
};

struct GpuState {
  int index = 0;  ///< by PCI order, as nvidia-smi counts
  std::string uuid, name;
  Bytes memory_total_bytes = 0, memory_used_bytes = 0;
  int utilization_percent = 0;
  std::vector<GpuProcess> processes;
};

}  // namespace k3d
