// Sends the engine's log to a file of the attempt by way of the image's shell, so that no reader can block the engine.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/launch.hpp"

namespace k3d::engine {

/// Wraps `spec`, whose args are llama-server's, around the image's own entrypoint. `log_path` is a path inside the
/// container; it travels in K3D_LOG, never in the script's text.
void wrap_for_log(LaunchSpec& spec, const std::vector<std::string>& image_entrypoint, const std::string& log_path);

}  // namespace k3d::engine
