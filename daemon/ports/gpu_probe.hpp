// Port: this host's GPUs now. Implemented by adapters/nvml.
#pragma once

#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/model/gpu.hpp"

namespace k3d {

class GpuProbe {
 public:
  virtual ~GpuProbe() = default;
  /// By index; empty on a host without a driver. Errors: timed_out (a driver call hangs), unreachable (the driver or a
  /// card is lost), protocol. Within 5 s. Calls that overlap share one answer. `ours` is left to the caller.
  virtual Task<Result<std::vector<GpuState>>> read() = 0;
};

}  // namespace k3d
