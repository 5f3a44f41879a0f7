// Small files: read whole with a limit, written atomically (temporary, fsync, rename, fsync of the folder).
// A full disk is Code::disk_full, everything else Code::io_failed, always with the path.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d {

/// Fails with not_found if there is none and invalid_request if it is larger than `limit`.
Result<std::string> read_file(const std::filesystem::path& path, Bytes limit = kMiB);

/// The old content or the new one, never half of it. `mode` is the new file's permission bits.
Status write_file(const std::filesystem::path& path, std::string_view content, unsigned mode = 0600);

/// Makes the folder and its parents (0700); fine if it exists.
Status make_folder(const std::filesystem::path& path);

/// An Error for errno `number` that happened while doing `what` ("write", "open") to `path`.
Error file_error(std::string_view what, const std::filesystem::path& path, int number);

}  // namespace k3d
