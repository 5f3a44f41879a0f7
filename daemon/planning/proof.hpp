// May a quant serve on these GPUs: judged by the types of its expert tensors, since it is their kernels that have been
// wrong, and by what the catalogue knows. Pure. Not here: what was proven on this host, which comes from the store and
// outweighs `Proof::proven`; and whether a profile allows the unproven.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/quants.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::planning {

enum class Proven { no, elsewhere };

struct Proof {
  bool blocked = false;      ///< must not serve, whatever a profile allows
  bool needs_proof = false;  ///< has IQ or TQ types
  Proven proven = Proven::no;
  std::vector<std::string> reasons;  ///< in words: why it is blocked, what needs proof, where it was proven
};

/// `model` and `quant` are names of the catalogue, empty for a file given by its path. `gpus`: the models of the GPUs
/// that it would run on, by NVML's name; empty: the CPU alone, for which nothing is proven elsewhere.
/// A model without experts is judged by all of its tensors.
Proof judge(const ModelHeaders& headers, const QuantCatalogue& catalogue, const std::string& model,
            const std::string& quant, const std::vector<std::string>& gpus);

}  // namespace k3d::planning
