// What of a model's geometry decides its memory: layers, what each keeps per token and per sequence, widths.
// Owns: which metadata keys say it. Not here: the weights (layer_weights.hpp), bytes of anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::planning {

/// What one layer keeps. Elements; the cache's type makes them bytes.
struct LayerState {
  std::int64_t k_row = 0, v_row = 0;  ///< of the KV cache, per token
  std::int64_t recurrent = 0;         ///< F32, per sequence and snapshot

  friend bool operator==(const LayerState&, const LayerState&) = default;
};

struct Architecture {
  std::string name;            ///< general.architecture
  int layers = 0;              ///< repeating ones; the output counts as one more, `layers` itself
  std::int64_t embedding = 0;  ///< width of the residual stream
  std::int64_t dense_ff = 0;   ///< width of a dense feed-forward; 0: none
  int experts = 0, experts_used = 0;
  std::int64_t expert_ff = 0;         ///< width of one routed expert
  std::int64_t expert_embedding = 0;  ///< what routed experts read and write
  std::int64_t attention_width = 0;   ///< heads times the row that each compares, of the widest layer
  std::int64_t recurrent_width = 0;   ///< heads times their width in KDA layers
  int context_trained = 0;
  int residual_block = 0;          ///< layers after which another copy of the residual stream is kept; 0: none
  bool sliding_window = false;     ///< some layers keep less than `states` says
  std::vector<LayerState> states;  ///< one per layer
};

/// Sources of the formulas: llama.cpp's llama-hparams.cpp (n_embd_k_gqa, n_embd_r, n_embd_s) and the loaders of
/// models/kimi-k3.cpp, kimi-linear.cpp and deepseek2.cpp. MLA layers (attention.key_length_mla is set) cache the
/// compressed row only, and no V; KDA layers (0 KV heads) keep 3 convolution windows and a square state per head.
/// Error: model_corrupt for missing or impossible keys, invalid_request for a recurrent architecture that isn't known.
Result<Architecture> read_architecture(const ModelHeaders& headers);

}  // namespace k3d::planning
