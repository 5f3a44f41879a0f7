// Flags of llama-server that k3d computes or that would open a hole, so that nobody may give them by hand.
// Used by config/ (extra_args) and by daemon/engine (the command line). Which flags an image has: engine_image.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace k3d {

/// Why `arg` may not be given, and what to use instead; nothing if it may. `arg` is one argument, with or without
/// `=VALUE`; llama-server takes `_` for `-` in long flags, and so does this.
std::optional<std::string> reserved_flag_reason(std::string_view arg);

}  // namespace k3d
