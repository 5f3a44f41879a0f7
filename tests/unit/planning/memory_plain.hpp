// Headers of other architectures made by code, of the shapes that tests/testbed/make_sparse_plain.py writes.
#pragma once

#include <string>

#include "daemon/planning/model_headers.hpp"

namespace k3d::planning::test {

/// llama (3 70B, F16), qwen3moe (235B A22B), deepseek2 (V3), kimi-linear (48B A3B).
ModelHeaders plain(const std::string& architecture);

/// llama: every layer with `heads_kv` KV heads of 128, dense, F16.
ModelHeaders dense_llama(int layers, int embedding, int ff, int heads_kv, int vocabulary);

/// qwen3moe: every layer with 128 experts.
ModelHeaders qwen3_moe(int layers);

}  // namespace k3d::planning::test
