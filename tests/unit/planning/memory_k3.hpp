// Headers of Kimi-K3 made by code: full-size in the published quants, and small. Others are in memory_plain.hpp.
#pragma once

#include <string>

#include "daemon/planning/model_headers.hpp"

namespace k3d::planning::test {

/// UD-IQ1_M, UD-IQ2_XXS, UD-Q2_K_XL, UD-Q4_K_XL, or REAP770: UD-Q2_K_XL with 770 of the 896 experts.
ModelHeaders kimi_k3(const std::string& quant);

/// 93 layers of Kimi-K3's kind, but `layers` of them and small.
ModelHeaders small_kimi_k3(int layers);

/// A tensor with the bytes of its type and shape.
TensorInfo tensor(std::string name, const std::string& type, std::array<std::int64_t, 4> ne);

}  // namespace k3d::planning::test
