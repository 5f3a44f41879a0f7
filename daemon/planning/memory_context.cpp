#include "daemon/planning/memory_context.hpp"

#include <algorithm>

namespace k3d::planning {
namespace {

constexpr std::int64_t kContextStep = 256;
constexpr Bytes kF32 = 4;

std::int64_t rounded_up(std::int64_t tokens) {
  return (tokens + kContextStep - 1) / kContextStep * kContextStep;
}

Bytes row_bytes(const GgmlType& type, std::int64_t elements) {
  return static_cast<Bytes>(elements) / type.block_elements * type.block_bytes;
}

}  // namespace

std::int64_t slot_context(const Serving& serving) {
  const std::int64_t all = rounded_up(std::max(serving.context, 1));
  return rounded_up(std::max<std::int64_t>(all / std::max(serving.slots, 1), 1));
}

std::int64_t total_context(const Serving& serving) {
  return slot_context(serving) * std::max(serving.slots, 1);
}

Bytes cache_bytes(const LayerState& layer, const Serving& serving) {
  const Bytes token = row_bytes(*serving.cache, layer.k_row) + row_bytes(*serving.cache, layer.v_row);
  return token * static_cast<Bytes>(total_context(serving));
}

Bytes recurrent_bytes(const LayerState& layer, const Serving& serving) {
  const auto cells = static_cast<Bytes>(std::max(serving.slots, 1)) * static_cast<Bytes>(1 + serving.rollback);
  return cells * static_cast<Bytes>(layer.recurrent) * kF32;
}

Bytes checkpoint_bytes(const Architecture& model) {
  Bytes bytes = 0;
  for (const LayerState& layer : model.states) bytes += static_cast<Bytes>(layer.recurrent) * kF32;
  return bytes;
}

bool cache_type_fits(const Architecture& model, const GgmlType& type) {
  return std::all_of(model.states.begin(), model.states.end(), [&](const LayerState& layer) {
    return layer.k_row % type.block_elements == 0 && layer.v_row % type.block_elements == 0;
  });
}

}  // namespace k3d::planning
