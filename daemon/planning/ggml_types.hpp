// ggml's tensor types by their id in GGUF files: name, elements and bytes of a block.
// Not here: whether a type's kernels work on some GPU (proof.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d::planning {

struct GgmlType {
  std::uint32_t id = 0;
  std::string_view name;  ///< as ggml spells it: "IQ2_XXS"
  std::uint32_t block_elements = 0;
  std::uint32_t block_bytes = 0;
};

/// Nothing for ids that ggml never had, and for those it has removed (4, 5, 31 to 33, 36 to 38).
const GgmlType* ggml_type(std::uint32_t id);
const GgmlType* ggml_type(std::string_view name);

/// Bytes of a tensor's data, without padding: ne0 / block_elements * block_bytes * ne1 * ne2 * ne3.
/// Error: model_corrupt, for an unknown type, a dimension below 1, rows that don't end with a block, and more than
/// 2^63.
Result<Bytes> tensor_bytes(std::uint32_t type, const std::array<std::int64_t, 4>& ne);

}  // namespace k3d::planning
