// Processors, memory, NUMA nodes, the NVIDIA module and the clock, as the kernel tells them below `root` (/, but in
// tests). Not here: disks, processes, units.
#pragma once

#include <filesystem>
#include <string>

#include "daemon/model/host_report.hpp"

namespace k3d::adapters {

/// From the text of /proc/cpuinfo. Where the kernel names no cores, every processor is one.
CpuFacts cpu_of(const std::string& cpuinfo);

Known<CpuFacts> read_cpu(const std::filesystem::path& root);
Known<MemoryFacts> read_memory(const std::filesystem::path& root);
Known<NumaFacts> read_numa(const std::filesystem::path& root);
/// `version` is the driver's file of that name.
Known<DriverModule> read_driver_module(const std::filesystem::path& version);
/// Whether the kernel counts the clock as synchronised; where it may not be asked, by what systemd-timesyncd leaves.
Known<bool> read_clock(const std::filesystem::path& root);

}  // namespace k3d::adapters
