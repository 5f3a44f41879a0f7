// systemd's units that start an engine of their own, from its files and folders below `root` (/, but in tests).
#pragma once

#include <filesystem>
#include <vector>

#include "daemon/model/host_report.hpp"

namespace k3d::adapters {

/// Those of known names and those that call llama-server. By name; masked ones are left out.
Known<std::vector<UnitFacts>> read_engine_units(const std::filesystem::path& root);

}  // namespace k3d::adapters
