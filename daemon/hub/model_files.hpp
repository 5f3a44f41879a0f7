// The files of a profile's model on this host: found, complete, readable and GGUF by their first bytes.
// Not here: downloads, hashes, what is inside the headers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::hub {

struct ModelFiles {
  std::filesystem::path first_shard;          ///< absolute, below mount_folder; may be a link within it
  std::vector<std::filesystem::path> shards;  ///< all, in order; the first one too
  Bytes total_bytes = 0;                      ///< of all shards
  /// What a container must see for the shards' links to resolve: the repository's whole cache folder, the folder of
  /// quants made here, or the file's own folder.
  std::filesystem::path mount_folder;
  std::filesystem::path mmproj;  ///< below mount_folder; empty if there is none
  std::string identity;          ///< path, size and time of change of each file
};

/// Blocking: call it off the loops. Error: files_missing (at most 5 files by name, where they were looked for, and what
/// to do), for files that are missing, empty, unreadable, no GGUF, or links that leave the mounted folder.
Result<ModelFiles> find_model_files(const Settings& settings, const Profile& profile);

/// Where the files of a quant of a hub's model may be, in the order in which they are looked for; with an empty quant the
/// folders that hold quants.
std::vector<std::filesystem::path> quant_folders(const Settings& settings, const Model& model, const std::string& quant);

}  // namespace k3d::hub
