// What reading the configuration again came to.
#pragma once

#include <string>
#include <vector>

namespace k3d {

struct ReloadOutcome {
  std::vector<std::string> changed;           ///< such as "profiles.batch", "models.demo", "proxy.api_keys_file"
  std::vector<std::string> restart_needed;    ///< those of them that only a restart of k3d takes up
  std::vector<std::string> drifted_profiles;  ///< running profiles that differ now from what they were started with
};

}  // namespace k3d
