// Headers of models made by code: full-size Kimi-K3 in the published quants, and plain models of other architectures.
#pragma once

#include <string>

#include "daemon/planning/model_headers.hpp"

namespace k3d::planning::test {

/// UD-IQ1_M, UD-IQ2_XXS, UD-Q2_K_XL, UD-Q4_K_XL, or REAP770: UD-Q2_K_XL with 770 of the 896 experts.
ModelHeaders kimi_k3(const std::string& quant);

/// 93 layers of Kimi-K3's kind, but `layers` of them and small.
ModelHeaders small_kimi_k3(int layers);

/// llama: every layer with `heads_kv` KV heads of 128, dense, F16.
ModelHeaders dense_llama(int layers, int embedding, int ff, int heads_kv, int vocabulary);

/// qwen3moe: every layer with 128 experts.
ModelHeaders qwen3_moe(int layers);

/// A tensor with the bytes of its type and shape.
TensorInfo tensor(std::string name, const std::string& type, std::array<std::int64_t, 4> ne);

}  // namespace k3d::planning::test
