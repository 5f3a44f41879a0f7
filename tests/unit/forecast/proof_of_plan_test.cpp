// What the proof of a quant's kernels means for a plan.
#include "daemon/forecast/proof_of_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/quants.hpp"

namespace k3d::forecast {
namespace {

using testing::HasSubstr;

constexpr const char* kCard = "NVIDIA RTX PRO 6000 Blackwell Server Edition";

planning::Proof judged(const std::string& quant, const std::string& gpu) {
  const QuantCatalogue& all = config::builtin_quants();
  return planning::judge(headers_of(all.at("kimi-k3").at(quant)), all, "kimi-k3", quant, {gpu});
}

Plan fitting() {
  Plan plan;
  plan.verdict = Verdict::all_vram;
  plan.devices.resize(1);
  return plan;
}

TEST(ProofOfPlan, a_blocked_quant_is_blocked_whatever_fits_and_allows) {
  Plan plan = fitting();
  Profile profile;
  profile.allow_unproven = true;
  apply_proof(judged("UD-TQ2_0", kCard), &profile, plan);
  EXPECT_EQ(plan.verdict, Verdict::blocked);
  EXPECT_THAT(plan.reasons.front(), HasSubstr("corrupt"));
  EXPECT_EQ(plan.breaks.front().resource, PlanBreak::Resource::quant);
  EXPECT_EQ(proof_of(judged("UD-TQ2_0", kCard)), Proof::blocked);
}

TEST(ProofOfPlan, what_was_proven_elsewhere_is_said) {
  Plan plan = fitting();
  const Profile profile;
  apply_proof(judged("UD-IQ2_XXS", kCard), &profile, plan);
  EXPECT_EQ(plan.verdict, Verdict::all_vram);
  EXPECT_TRUE(plan.breaks.empty());
  EXPECT_THAT(plan.reasons.back(), HasSubstr("elsewhere"));
  EXPECT_EQ(proof_of(judged("UD-IQ2_XXS", kCard)), Proof::elsewhere);
}

TEST(ProofOfPlan, the_unproven_serves_only_where_it_is_allowed) {
  const planning::Proof proof = judged("UD-IQ2_XXS", "NVIDIA H200");
  EXPECT_EQ(proof_of(proof), Proof::no);
  Profile profile;
  Plan plan = fitting();
  apply_proof(proof, &profile, plan);
  ASSERT_EQ(plan.breaks.size(), 1u);
  EXPECT_THAT(plan.warnings.back(), HasSubstr("allow_unproven: true"));
  profile.allow_unproven = true;
  for (const Profile* allowing : {static_cast<const Profile*>(&profile), static_cast<const Profile*>(nullptr)}) {
    plan = fitting();
    apply_proof(proof, allowing, plan);
    EXPECT_TRUE(plan.breaks.empty());
    EXPECT_FALSE(plan.warnings.empty()) << "it is never served in silence";
  }
}

TEST(ProofOfPlan, types_that_need_none_are_not_spoken_of) {
  Plan plan = fitting();
  const Profile profile;
  apply_proof(judged("UD-Q4_K_XL", "NVIDIA H200"), &profile, plan);
  EXPECT_TRUE(plan.warnings.empty());
  EXPECT_TRUE(plan.breaks.empty());
}

}  // namespace
}  // namespace k3d::forecast
