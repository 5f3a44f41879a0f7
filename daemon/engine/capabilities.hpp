// What an engine image can do, read from its own --help, and kept as JSON. Pure. Asking the image: daemon/lifecycle.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/model/engine_image.hpp"

namespace k3d::engine {

/// Every option of llama-server's help. Text that is no such help gives no flags at all; image_id and has_shell are
/// left to the caller.
EngineCapabilities parse_help(std::string_view help);

/// Compact JSON of everything, and back; `protocol` if it isn't what capabilities_to_json writes.
std::string capabilities_to_json(const EngineCapabilities& capabilities);
Result<EngineCapabilities> capabilities_from_json(std::string_view json);

}  // namespace k3d::engine
