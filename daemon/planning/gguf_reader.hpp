// A model's headers from its files: reads until the parser is content, file by file, and no weights.
// Blocking: for the planning executor and for k3ctl. Whoever reads without blocking drives GgufParser, names_of_set and
// join by itself.
#pragma once

#include <filesystem>

#include "daemon/planning/gguf_source.hpp"
#include "daemon/planning/split_set.hpp"

namespace k3d::planning {

/// How much is read at once: 1 MiB at first, which holds the whole header of most shards, then twice that each time.
/// Errors: the parser's and the source's.
Result<GgufFile> read_gguf(ByteSource& source);

/// The model that `file_name`, any file of its set, belongs to. `open` is asked for each file of the set once.
/// Errors: shard_missing, and those of read_gguf, names_of_set, join and `open`.
Result<ModelHeaders> read_model(const std::string& file_name, const OpenByName& open);

/// The same with files of this host; the others of the set lie beside `path`.
Result<ModelHeaders> read_model(const std::filesystem::path& path);

}  // namespace k3d::planning
