#include "tests/unit/planning/planner_inputs.hpp"

#include "tests/unit/planning/memory_golden.hpp"
#include "tests/unit/planning/memory_k3.hpp"

namespace k3d::planning::test {

PlanInputs reference(const std::string& quant, int slots, int context) {
  PlanInputs inputs;
  inputs.model = std::make_shared<const ModelHeaders>(headers_of(quant));
  inputs.profile.slots = slots;
  inputs.profile.context = context;
  for (int i = 0; i < 8; ++i) inputs.gpus.push_back({i, 97887 * kMiB, 97887 * kMiB});
  inputs.ram = HostRam{1024 * kGiB, 1000 * kGiB};
  return inputs;
}

ModelHeaders draft_headers() {
  ModelHeaders draft;
  const auto number = [&](const std::string& key, std::int64_t value) { draft.metadata["dflash." + key] = value; };
  draft.metadata["general.architecture"] = std::string("dflash");
  number("block_count", 5);
  number("embedding_length", 7168);
  number("feed_forward_length", 14336);
  number("attention.head_count", 56);
  number("attention.head_count_kv", 8);
  number("attention.key_length", 128);
  number("attention.value_length", 128);
  for (int il = 0; il < 5; ++il) {
    const std::string at = "blk." + std::to_string(il) + ".";
    draft.tensors.push_back(tensor(at + "ffn_up.weight", "BF16", {7168, 62760, 1, 1}));
  }
  return draft;
}

}  // namespace k3d::planning::test
