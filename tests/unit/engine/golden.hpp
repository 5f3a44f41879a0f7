// What real engines wrote, from tests/golden.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/engine_image.hpp"

namespace k3d::engine::test {

std::string golden(const std::string& name);
std::vector<std::string> golden_log(const std::string& name);

/// llama-server 0.7.0 as Debian has it, and a shortened help of a build that lacks its newer options.
EngineCapabilities debian();
EngineCapabilities older();

}  // namespace k3d::engine::test
