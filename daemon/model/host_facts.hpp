// Facts of this host that a launch needs. Unknown is nothing, never a guess.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/units.hpp"

namespace k3d {

struct HostFacts {
  int physical_cores = 1;
  std::optional<Bytes> ram_bytes;
  std::optional<Bytes> available_ram_bytes;  ///< that processes can have now without anything being swapped out
  unsigned uid = 0, gid = 0;
  std::vector<std::string> groups;  ///< supplementary gids: weights may be readable by group only
  std::string boot_id;
  bool numa_balancing = false;  ///< the kernel moves memory between NUMA nodes
  std::vector<std::string> gpu_uuids;  ///< by PCI order, so by index; empty if there is no driver
};

}  // namespace k3d
