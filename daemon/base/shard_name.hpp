// The names of a model split over several files: PREFIX-00001-of-00005.gguf. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace k3d {

struct ShardName {
  std::string prefix;  ///< everything in front of "-00001-of-…"
  int number = 0;      ///< from 1
  int count = 0;
};

/// Nothing if `file_name` is not one of a split model's.
std::optional<ShardName> parse_shard_name(std::string_view file_name);
std::string shard_name(const ShardName& shard);

}  // namespace k3d
