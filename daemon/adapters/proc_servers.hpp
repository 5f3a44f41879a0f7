// Processes of this host that matter to the doctor: llama-servers, and how far Docker may lift the memlock limit. Below
// `root` (/, but in tests).
#pragma once

#include <filesystem>
#include <vector>

#include "daemon/model/host_report.hpp"

namespace k3d::adapters {

/// Every llama-server, k3d's own too.
Known<std::vector<ForeignServer>> read_servers(const std::filesystem::path& root);

/// Of containerd, which starts containers, or else of dockerd.
Known<MemlockFacts> read_memlock(const std::filesystem::path& root);

}  // namespace k3d::adapters
