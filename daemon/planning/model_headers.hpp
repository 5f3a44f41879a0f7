// What the headers of a model's GGUF files say: metadata and the shape of every tensor, no weights.
// Filled by planning/gguf_reader; plain values, so that the memory model can be tested with any model.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/base/units.hpp"

namespace k3d::planning {

/// A value of the metadata. Integers and bools of every width are std::int64_t (u64 past its range: std::uint64_t is
/// refused by the reader); long arrays of strings (the vocabulary) are counted, not kept.
struct SkippedArray {
  std::uint64_t count = 0;
};
using MetadataValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>, std::vector<double>,
                                   std::vector<std::string>, SkippedArray>;

struct TensorInfo {
  std::string name;
  std::uint32_t type = 0;                    ///< ggml's id, one of planning/ggml_types
  std::array<std::int64_t, 4> ne{1, 1, 1, 1};  ///< ne[0] is the fastest
  Bytes bytes = 0;                           ///< of its data, without padding
  int shard = 0;                             ///< index into ModelHeaders::shards
  Bytes offset = 0;                          ///< of its data in that file
};

struct ShardInfo {
  std::string name;  ///< as the source calls it
  Bytes file_bytes = 0;
  Bytes header_bytes = 0;  ///< until the data begins
};

struct ModelHeaders {
  std::map<std::string, MetadataValue> metadata;
  std::vector<TensorInfo> tensors;  ///< in the order of the shards
  std::vector<ShardInfo> shards;

  /// Nothing if the key is missing or of another type. `integer` also takes a whole double.
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& key) const;
  [[nodiscard]] std::optional<double> number(const std::string& key) const;
  [[nodiscard]] std::optional<std::string> text(const std::string& key) const;
  /// One value a layer; a single integer counts for all `count` of them. Nothing if missing or shorter than that.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(const std::string& key, std::size_t count) const;
};

}  // namespace k3d::planning
