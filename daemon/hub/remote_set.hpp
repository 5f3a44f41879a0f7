// Which files of a hub's list are a quant: one model, whole, or refused with what is wrong. Pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/ports/hub.hpp"

namespace k3d::hub {

/// A quant's name is a path part on the hub and on this host: letters, digits, ".", "_" and "-", at most 64, not "..".
bool is_quant_name(std::string_view quant);

/// The shards of the model in folder `quant`, in order; mmproj files and what isn't GGUF don't count.
/// Errors: files_missing (no model, or more than one), shard_missing, model_corrupt (an empty file, or a sum past 2^63).
Result<std::vector<HubFile>> shards_of_quant(const std::vector<HubFile>& files, const std::string& quant);

}  // namespace k3d::hub
