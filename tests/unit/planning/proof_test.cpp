// Which quants may serve where, with the catalogue that is built in; and whether that agrees with itself.
#include "daemon/planning/proof.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/quants.hpp"
#include "daemon/planning/ggml_types.hpp"

namespace k3d::planning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kRtx = "NVIDIA RTX PRO 6000 Blackwell Server Edition";
const std::string kH200 = "NVIDIA H200";

const QuantCatalogue& known() {
  return config::builtin_quants();
}

/// A model with experts of these types, among other tensors.
ModelHeaders with_experts(const std::vector<std::string>& types) {
  ModelHeaders headers;
  const auto add = [&](const std::string& name, const std::string& type) {
    TensorInfo tensor;
    tensor.name = name;
    tensor.type = ggml_type(type)->id;
    headers.tensors.push_back(tensor);
  };
  add("token_embd.weight", "Q8_0");
  add("blk.1.ffn_gate_inp.weight", "F32");
  for (const std::string& type : types) add("blk.1.ffn_gate_exps.weight", type);
  return headers;
}

Proof of(const std::vector<std::string>& types, const std::string& quant, const std::vector<std::string>& gpus) {
  return judge(with_experts(types), known(), quant.empty() ? "" : "kimi-k3", quant, gpus);
}

TEST(Proof, UD_TQ2_0_is_blocked_with_its_reason) {
  const Proof proof = of({"TQ2_0", "Q1_0"}, "UD-TQ2_0", {kRtx});
  EXPECT_TRUE(proof.blocked);
  EXPECT_EQ(proof.proven, Proven::no);
  EXPECT_THAT(proof.reasons.at(0), HasSubstr("UD-TQ2_0 is blocked: its logits are corrupt"));
  EXPECT_TRUE(of({"TQ2_0", "Q1_0"}, "UD-TQ2_0", {}).blocked) << "also on the CPU: it is the quant that is blocked";
}

TEST(Proof, the_types_count_and_not_the_name) {
  for (const std::string& name : {std::string(), std::string("UD-Q2_K_XL"), std::string("made-here")}) {
    const Proof proof = of({"TQ2_0"}, name, {kRtx});
    EXPECT_TRUE(proof.blocked) << name;
    EXPECT_THAT(proof.reasons, ElementsAre(HasSubstr("TQ2_0")));
  }
  const Proof renamed = of({"IQ1_S"}, "UD-IQ2_XXS", {kRtx});
  EXPECT_TRUE(renamed.needs_proof);
  EXPECT_EQ(renamed.proven, Proven::no) << "what the folder is called proves nothing";
  EXPECT_TRUE(of({"TQ2_0"}, "", {}).needs_proof);
  EXPECT_FALSE(of({"TQ2_0"}, "", {}).blocked) << "the broken kernel is a GPU's";
}

TEST(Proof, what_passed_the_gate_elsewhere_is_proven_on_that_gpu_model_alone) {
  const std::vector<std::string> types = {"IQ1_M", "IQ2_XXS", "IQ3_XXS"};
  const Proof proof = of(types, "UD-IQ2_XXS", {kRtx, kRtx});
  EXPECT_TRUE(proof.needs_proof);
  EXPECT_EQ(proof.proven, Proven::elsewhere);
  EXPECT_THAT(proof.reasons, ElementsAre(HasSubstr("IQ1_M, IQ2_XXS, IQ3_XXS passed the gate on " + kRtx)));
  EXPECT_EQ(of(types, "UD-IQ2_XXS", {kH200}).proven, Proven::no);
  EXPECT_EQ(of(types, "UD-IQ2_XXS", {kRtx, kH200}).proven, Proven::no);
  EXPECT_EQ(of(types, "UD-IQ2_XXS", {}).proven, Proven::no);
  EXPECT_EQ(of(types, "", {kRtx}).proven, Proven::elsewhere) << "a file by its path has the same kernels";
}

TEST(Proof, one_gate_must_have_seen_all_types) {
  EXPECT_EQ(of({"IQ2_XS", "IQ3_XXS"}, "UD-Q2_K_XL", {kRtx}).proven, Proven::elsewhere);
  EXPECT_EQ(of({"IQ2_XS", "IQ1_M"}, "made-here", {kRtx}).proven, Proven::no);
  EXPECT_EQ(of({"IQ1_S", "IQ2_XXS", "IQ3_XXS"}, "UD-IQ1_M", {kRtx}).proven, Proven::no);
  EXPECT_EQ(of({"IQ3_S"}, "made-here", {kRtx}).proven, Proven::no);
  EXPECT_EQ(of({"TQ1_0", "Q1_0"}, "UD-TQ1_0", {kRtx}).proven, Proven::no);
}

TEST(Proof, other_types_need_none) {
  for (const char* type : {"MXFP4", "Q2_K", "Q8_0", "BF16", "F32"}) {
    const Proof proof = of({type}, "UD-Q4_K_XL", {kH200});
    EXPECT_FALSE(proof.needs_proof || proof.blocked) << type;
    EXPECT_THAT(proof.reasons, IsEmpty());
  }
}

TEST(Proof, a_model_without_experts_is_judged_by_all_its_tensors) {
  ModelHeaders headers = with_experts({});
  EXPECT_FALSE(judge(headers, known(), "", "", {kRtx}).needs_proof);
  headers.tensors[0].type = ggml_type("IQ4_XS")->id;
  EXPECT_TRUE(judge(headers, known(), "", "", {kRtx}).needs_proof);
  ModelHeaders sparse = with_experts({"MXFP4"});
  sparse.tensors[0].type = ggml_type("IQ4_XS")->id;
  EXPECT_FALSE(judge(sparse, known(), "", "", {kRtx}).needs_proof) << "with experts, these count";
}

TEST(Proof, the_configuration_has_the_last_word) {
  QuantCatalogue changed = known();
  changed["kimi-k3"]["UD-TQ2_0"].blocked.clear();
  changed["kimi-k3"]["UD-TQ2_0"].broken_types.clear();
  changed["kimi-k3"]["UD-TQ2_0"].proven_on = {kH200};
  EXPECT_EQ(judge(with_experts({"TQ2_0", "Q1_0"}), changed, "kimi-k3", "UD-TQ2_0", {kH200}).proven, Proven::elsewhere);
}

TEST(Catalogue, sizes_agree_with_the_mixes_of_types) {
  constexpr Bytes others = 62'205'516'160;  // the tensors that are no experts
  int seen = 0;
  for (const auto& [name, quant] : known().at("kimi-k3")) {
    if (quant.experts.empty() || name == "UD-Q2_K_XL-REAP770") continue;
    Bytes bytes = others;
    int tensors = 0;
    for (const auto& [type, count] : quant.experts) {
      ASSERT_NE(ggml_type(type), nullptr) << name << " " << type;
      bytes += tensor_bytes(ggml_type(type)->id, {3584, 3072, 896, 1}).value() * static_cast<Bytes>(count);
      tensors += count;
    }
    EXPECT_EQ(tensors, 276) << name;
    EXPECT_NEAR(static_cast<double>(quant.total_bytes - bytes), 7.1e6, 0.1e6) << name << ": headers and padding";
    ++seen;
  }
  EXPECT_EQ(seen, 6);
}

}  // namespace
}  // namespace k3d::planning
