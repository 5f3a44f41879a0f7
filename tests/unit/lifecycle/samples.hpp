// Launches and engines with nothing in them but what a transition looks at.
#pragma once

#include <string>

#include "daemon/model/instance.hpp"

namespace k3d::lifecycle {

inline Launch launch_of(const std::string& profile, std::uint64_t attempt) {
  Launch launch;
  launch.profile = profile;
  launch.attempt = attempt;
  return launch;
}

inline Engine engine_of(const std::string& profile, std::uint64_t attempt) {
  Engine engine;
  engine.container = ContainerId("c" + std::to_string(attempt));
  engine.launch = launch_of(profile, attempt);
  return engine;
}

}  // namespace k3d::lifecycle
