// The `docker run` command that makes the same container as create_spec: for people. k3d itself asks Docker's API.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/launch.hpp"

namespace k3d::docker {

/// One argument an element, unquoted.
std::vector<std::string> docker_run_arguments(const LaunchSpec& spec);

/// The same on one line, quoted for a POSIX shell.
std::string docker_run_line(const LaunchSpec& spec);

}  // namespace k3d::docker
