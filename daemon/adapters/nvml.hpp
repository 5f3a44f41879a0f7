// This host's GPUs by NVML, asked in a child process of the same binary: a driver call that hangs is ended with the
// child, and the daemon itself never holds a device file. Not here: the process (child_process), what it runs
// (nvml_child, nvml_library).
#pragma once

#include <filesystem>
#include <memory>

#include "daemon/base/units.hpp"
#include "daemon/ports/gpu_probe.hpp"
#include "daemon/ports/host_survey.hpp"

namespace k3d::adapters {

struct NvmlOptions {
  std::filesystem::path program = "/proc/self/exe";  ///< its main calls run_as_nvml_child first
  milliseconds answer{4500};          ///< for one read
  milliseconds first_answer{30'000};  ///< before a new child counts as hung: where nothing holds the driver open, it
                                      ///< first wakes every card
  milliseconds pause{2'000};          ///< after a child that hung, died or could not be started
  milliseconds ask_again{60'000};     ///< on a host without a driver
};

/// Both are answered by one child.
class NvmlProbe : public GpuProbe, public GpuInspector {};

/// Of the loop `loop`; the child is started with the first read and ends with the probe.
std::unique_ptr<NvmlProbe> nvml(Executor loop, NvmlOptions options = {});

}  // namespace k3d::adapters
