// How fast a disk is read: a few seconds of the largest file there, past the kernel's cache. Blocks that long, on a dead
// disk for ever.
#pragma once

#include <filesystem>

#include "daemon/model/host_report.hpp"

namespace k3d::adapters {

Known<ReadSpeed> measure_read_speed(const std::filesystem::path& folder, milliseconds limit);

}  // namespace k3d::adapters
