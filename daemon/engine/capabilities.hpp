// What an engine image can do, read from llama-server's own --help. Pure.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/model/engine_image.hpp"

namespace k3d::engine {

/// Every option of a --help text with all its spellings. Lines that don't begin with an option are descriptions.
EngineCapabilities parse_help(std::string_view help);

/// As kept in the store, and back. Error protocol for anything else.
std::string capabilities_to_json(const EngineCapabilities& capabilities);
Result<EngineCapabilities> capabilities_from_json(std::string_view text);

}  // namespace k3d::engine
