// Which files a request may name: those below the configured folders. Blocking.
#pragma once

#include <filesystem>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::forecast {

/// hub.cache, models' `local`, and the folders that models' paths are in.
std::vector<std::filesystem::path> roots_of(const Settings& settings);

/// Every file of the set that `path`, a GGUF file or any shard, belongs to: with every link followed below one of the
/// roots. Whether they exist is not decided here. Errors: invalid_request, for a path that is not absolute; forbidden, for
/// one elsewhere, which is the same whether something is there or not.
Result<std::vector<std::filesystem::path>> files_of_set(const std::filesystem::path& path, const Settings& settings);

}  // namespace k3d::forecast
