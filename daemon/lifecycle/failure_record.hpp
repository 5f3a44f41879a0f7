// The last failure as the state keeps it over a restart of k3d.
#pragma once

#include <optional>
#include <string>

#include "daemon/model/failure.hpp"

namespace k3d::lifecycle {

struct FailureRecord {
  Failure failure;
  bool final = false;  ///< it was given up; else another try was due
};

std::string to_text(const FailureRecord& record);
/// Nothing if there is none or it can't be read: it is history.
std::optional<FailureRecord> failure_record(const std::string& text);

}  // namespace k3d::lifecycle
