// Sets of GGUF files that are one model: which files belong to one, and the model that they make together. Pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/planning/gguf_parser.hpp"

namespace k3d::planning {

/// The bare names of all files of the set that `file`, called `file_name`, belongs to, in order; of a single file its
/// own. Error: model_corrupt, if the name and split.no and split.count don't agree.
Result<std::vector<std::string>> names_of_set(const std::string& file_name, const GgufFile& file);

/// `files` are all of a set, in order. The metadata are the first one's, as the engine has it.
/// Error: model_corrupt, for files of different sets, in another order, repeated, or with a tensor twice.
Result<ModelHeaders> join(std::vector<GgufFile> files);

}  // namespace k3d::planning
