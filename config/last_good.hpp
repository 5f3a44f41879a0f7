// The last configuration that was good, kept in the state: what k3d goes on with when the file has become bad, so that
// a slip in an editor and a restart don't take a loaded model out of reach.
#pragma once

#include <filesystem>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::config {

/// Keeps the text of `file` as STATE/last-good.yaml (0600, the old copy or the new one, never half of it), together
/// with which file it came from. Call it once the settings of `file` are in force. Fails with config_invalid, and
/// leaves the copy alone, if the file has become bad meanwhile; else with io_failed or disk_full.
Status keep_last_good(const std::filesystem::path& state, const std::filesystem::path& file);

/// The settings of the first good copy in `folders` that was kept for `file`; they name `file` as where they are from.
/// Fails with not_found. A copy that others could have written, that is of another file, or that is bad itself (of a
/// newer k3d, say) counts as none.
Result<Settings> load_last_good(const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders);

/// Where copies for `file` may be: its own `state` as far as the text still tells, $STATE_DIRECTORY, /var/lib/k3d.
std::vector<std::filesystem::path> last_good_folders(const std::filesystem::path& file);

/// What to run with, and what is wrong with the file if it is the kept copy.
struct Usable {
  Settings settings;
  std::string trouble;  ///< empty: the file itself is good
};

/// The configuration, or else the last good one. Fails with the file's own mistakes if there is none of either.
Result<Usable> load_usable(const std::filesystem::path& file);

}  // namespace k3d::config
