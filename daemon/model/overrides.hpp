// Settings of a profile that were changed beside the configuration, from its next start on.
#pragma once

#include <map>
#include <string>

namespace k3d {

/// Keys of a profile to values as they would be written in YAML: {"ubatch", "2048"}. "fit_target_mib" means
/// placement.fit_target_mib. Which keys there may be is config/overrides'.
using Overrides = std::map<std::string, std::string>;

}  // namespace k3d
