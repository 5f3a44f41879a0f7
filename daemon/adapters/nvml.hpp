// This host's GPUs by NVML, asked in a child process of the same binary: a driver call that hangs is ended with the
// child, and the daemon itself never holds a device file.
#pragma once

#include <memory>

#include "daemon/ports/gpu_probe.hpp"

namespace k3d::adapters {

/// Of the loop `loop`; the child is started with the first read.
std::unique_ptr<GpuProbe> nvml(Executor loop);

}  // namespace k3d::adapters
