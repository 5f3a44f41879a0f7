// NVML by dlopen. Blocks, and may hang in the driver: for the GPU process alone.
#pragma once

#include <memory>

#include "daemon/adapters/nvml_listener.hpp"
#include "daemon/adapters/nvml_reading.hpp"

namespace k3d::adapters {

struct NvmlCard;

class NvmlLibrary {
 public:
  enum class Depth { figures, thorough };

  NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  /// The GPUs by PCI order. Errors: unreachable, with the driver's words. After one the driver is opened anew.
  NvmlReading read(Depth depth);

 private:
  void read_cards(Depth depth, NvmlReading& reading);
  GpuReport report_on(const std::vector<NvmlCard>& cards);
  void close();

  std::unique_ptr<nvml_api::Calls> calls_;
  std::string missing_;  ///< why there are no calls
  bool open_ = false;
  bool listens_ = false;
  NvmlListener listener_;
};

}  // namespace k3d::adapters
