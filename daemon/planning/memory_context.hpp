// What sequences keep: KV cache, recurrent state, context checkpoints. Bytes per layer, and how contexts are rounded.
#pragma once

#include "daemon/planning/architecture.hpp"
#include "daemon/planning/ggml_types.hpp"

namespace k3d::planning {

/// How an engine serves, as far as memory cares.
struct Serving {
  int slots = 1;
  int context = 0;  ///< asked for: tokens, total over the slots
  int batch = 0, ubatch = 0;
  int rollback = 0;                 ///< snapshots of recurrent state besides the current one: the tokens of a draft
  const GgmlType* cache = nullptr;  ///< type of K and V
};

/// Tokens of one slot: context / slots, up to a multiple of 256 (llama-context.cpp: n_ctx_seq; the KV cache isn't
/// unified when the slots are given).
std::int64_t slot_context(const Serving& serving);
/// Tokens of all slots.
std::int64_t total_context(const Serving& serving);

/// Bytes of the KV cache of one layer: rows of K and V for every token (llama-kv-cache.cpp).
Bytes cache_bytes(const LayerState& layer, const Serving& serving);
/// F32 state of one layer: slots * (1 + rollback) cells (llama-memory-recurrent.cpp).
Bytes recurrent_bytes(const LayerState& layer, const Serving& serving);

/// A context checkpoint: the recurrent state of one sequence over all layers.
Bytes checkpoint_bytes(const Architecture& model);

/// Whether rows of every layer are whole blocks of the type; the engine refuses the others.
bool cache_type_fits(const Architecture& model, const GgmlType& type);

}  // namespace k3d::planning
