// One card as NVML tells it.
#pragma once

#include <optional>
#include <tuple>

#include "daemon/adapters/nvml_calls.hpp"
#include "daemon/model/host_report.hpp"

namespace k3d::adapters {

struct NvmlCard {
  nvml_api::PciInfo pci{};
  bool placed = false;         ///< `pci` is known
  std::optional<Error> error;  ///< why it could not be read to the end
  GpuFacts facts;

  [[nodiscard]] auto place() const { return std::tuple(pci.domain, pci.bus, pci.device); }
};

/// What every reading wants; `number` is NVML's.
NvmlCard read_card(const nvml_api::Calls& calls, unsigned number);
/// What only the doctor wants. What the driver doesn't tell stays unknown.
void read_details(const nvml_api::Calls& calls, unsigned number, NvmlCard& card);

}  // namespace k3d::adapters
