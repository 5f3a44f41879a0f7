// The token for the hub: of the configured file, else of the environment's HF_TOKEN.
#pragma once

#include <filesystem>

#include "daemon/base/result.hpp"
#include "daemon/base/secret.hpp"

namespace k3d::adapters {

/// Empty if there is none anywhere. Errors: config_invalid for one with characters that no token has, which is not
/// told; those of read_file for a file that is there but can't be read.
Result<Secret> hub_token(const std::filesystem::path& file);

}  // namespace k3d::adapters
