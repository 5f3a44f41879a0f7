// How a file becomes settings, for the configuration itself and for the kept copy of it.
#pragma once

#include "config/config.hpp"

namespace k3d::config {

/// The text of a file that only root and this process's user may write, of at most `limit`. Fails with config_invalid.
Result<std::string> read_trusted(const std::filesystem::path& file, Bytes limit = kMiB);

/// The settings of a text without mistakes, else config_invalid with a line for each; `file` is where it came from.
Result<Settings> decode_whole(std::string_view text, const std::filesystem::path& file);

}  // namespace k3d::config
