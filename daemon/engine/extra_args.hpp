// A profile's extra_args: let through as they are, or refused with the reason.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/engine/arguments.hpp"

namespace k3d::engine {

/// Errors: start_refused if one is reserved (daemon/model/reserved_flags) under any of its spellings or is computed
/// already in `arguments`; flag_missing if the image has no such flag.
Status check_extra_args(const std::vector<std::string>& extra, const Arguments& arguments);

}  // namespace k3d::engine
