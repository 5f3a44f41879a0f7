// NVML by dlopen, with the few of its types and calls that k3d needs declared here: its header is in no Debian package.
// Blocks, and may hang in the driver: for the GPU process alone.
#pragma once

#include <memory>

#include "daemon/adapters/nvml_reading.hpp"

namespace k3d::adapters {

class NvmlLibrary {
 public:
  NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  /// The GPUs by PCI order. Errors: unreachable, with the driver's words. After one the driver is opened anew.
  NvmlReading read();

 private:
  struct Calls;
  std::unique_ptr<Calls> calls_;
  std::string missing_;  ///< why there are no calls
  bool open_ = false;
};

}  // namespace k3d::adapters
