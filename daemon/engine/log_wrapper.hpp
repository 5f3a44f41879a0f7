// The engine's log goes to a file of its attempt: a pipe that nobody drains would hang it. Pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/launch.hpp"

namespace k3d::engine {

/// Puts a shell before the image's entrypoint that sends both streams to `log`. The path goes by the environment and
/// the arguments stand untouched behind the script: nothing is interpolated.
void wrap_for_log(LaunchSpec& spec, const std::vector<std::string>& image_entrypoint, const std::string& log);

}  // namespace k3d::engine
