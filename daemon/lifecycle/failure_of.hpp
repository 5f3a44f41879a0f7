// What went wrong with an attempt, as the failure people see: an Error, or a failure the catalogue has a name for.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/error.hpp"
#include "daemon/model/failure.hpp"

namespace k3d::lifecycle {

Failure failure_of(const Error& error, const std::string& profile, std::uint64_t attempt);

/// The catalogue's `code`, with what was seen of it.
Failure named_failure(std::string_view code, const std::string& profile, std::uint64_t attempt, std::string detail);

}  // namespace k3d::lifecycle
