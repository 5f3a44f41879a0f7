// What k3d relies on of containers, checked against any implementation: the double must not be kinder than Docker.
#pragma once

#include <functional>

#include "daemon/ports/containers.hpp"

namespace k3d::doubles {

/// `spec` makes a container that runs a shell script, each call under another name and with the label k3d.test=mark.
/// The scripts used: "exit 7", "exec sleep 600". Failures are gtest's; true at the end.
Task<bool> check_contract(Containers* containers, std::string mark, std::function<LaunchSpec(std::string)> spec);

}  // namespace k3d::doubles
