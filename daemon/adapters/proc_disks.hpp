// The disks under the folders that k3d uses, below `root` (/, but in tests). Blocks, on a dead network disk for ever.
#pragma once

#include <filesystem>
#include <vector>

#include "daemon/model/host_report.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::adapters {

/// One entry for each folder of `settings`, without its read_speed.
std::vector<DiskFacts> read_disks(const std::filesystem::path& root, const Settings& settings);

/// The disk under `folder`, which is there, by the text of /proc/self/mountinfo and by /sys.
Known<DiskKind> disk_kind(const std::filesystem::path& root, const std::string& mountinfo, const std::filesystem::path& folder);

}  // namespace k3d::adapters
