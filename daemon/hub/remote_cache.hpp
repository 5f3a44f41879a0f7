// Headers that came from a hub, kept on disk as the files' own bytes: by repository, revision and quant, which together
// never mean anything else. Blocking. What can't be used any more counts as not kept.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/hub/remote_shard.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::hub {

struct RemoteQuant {
  std::string repo, revision, quant;

  friend auto operator<=>(const RemoteQuant&, const RemoteQuant&) = default;
};

std::optional<planning::ModelHeaders> read_kept(const std::filesystem::path& folder, const RemoteQuant& quant);
/// `shards` are complete and in order. Errors: io_failed, disk_full.
Status keep(const std::filesystem::path& folder, const RemoteQuant& quant, const std::vector<RemoteShard>& shards);

}  // namespace k3d::hub
