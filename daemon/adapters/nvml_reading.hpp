// What the GPU process answers, as a value and as a line of JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/host_report.hpp"

namespace k3d::adapters {

struct NvmlReading {
  std::string no_driver;  ///< why this host has none; empty: it has one
  Result<std::vector<GpuState>> gpus;
  std::optional<GpuReport> report;  ///< of a thorough one, also where a card can't be read
};

/// The questions, without their ends.
inline constexpr std::string_view kAskFigures = "gpus";
inline constexpr std::string_view kAskReport = "inspect";

/// Without its end. Of an error only message, hint and cause: its code is unreachable.
std::string line_of_reading(const NvmlReading& reading);
/// Error protocol.
Result<NvmlReading> reading_of_line(std::string_view line);

}  // namespace k3d::adapters
