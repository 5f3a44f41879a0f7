// An Error that ended a start, as the failure people see.
#pragma once

#include "daemon/base/error.hpp"
#include "daemon/model/failure.hpp"

namespace k3d::lifecycle {

Failure failure_of(const Error& error, const std::string& profile, std::uint64_t attempt);

}  // namespace k3d::lifecycle
