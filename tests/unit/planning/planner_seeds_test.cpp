// Plans for the reference deployment (8 GPUs of 97,887 MiB, 1 TiB of RAM): what ran there, as it ran there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "daemon/planning/explain.hpp"
#include "daemon/planning/planner.hpp"
#include "tests/unit/planning/memory_golden.hpp"
#include "tests/unit/planning/planner_inputs.hpp"

namespace k3d::planning::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double gib(Bytes bytes) {
  return static_cast<double>(bytes) / kGiB;
}

TEST(PlannerSeeds, Iq2XxsIsAllInVramWithAMarginOf6144) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  inputs.profile.ubatch = 2048;
  inputs.profile.placement.fit_target_mib = {6144};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::all_vram) << explain(made);
  EXPECT_THAT(made.placement.tensor_split, ElementsAre(14, 14, 13, 13, 12, 11, 11, 6));
  EXPECT_EQ(made.placement.cpu_expert_layers, 0);
  EXPECT_EQ(made.host.model_bytes, 1190 * kMiB);
  for (const PlannedDevice& device : made.devices) EXPECT_GT(device.left_bytes, 0) << device.index;
}

TEST(PlannerSeeds, Reap770IsAllInVramWithAMarginOf4096) {
  PlanInputs inputs = reference("REAP770", 8, 65536);
  inputs.profile.ubatch = 2048;
  inputs.profile.placement.fit_target_mib = {4096};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::all_vram) << explain(made);
  EXPECT_THAT(made.placement.tensor_split, ElementsAre(13, 12, 12, 12, 11, 12, 12, 10));
}

TEST(PlannerSeeds, Reap770SpillsTwoLayersWithAMarginOf6144AndSaysWhatWouldKeepThem) {
  PlanInputs inputs = reference("REAP770", 8, 65536);
  inputs.profile.ubatch = 2048;
  inputs.profile.placement.fit_target_mib = {6144};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);
  EXPECT_EQ(made.placement.cpu_expert_layers, 2);
  ASSERT_FALSE(made.warnings.empty());
  EXPECT_THAT(made.warnings.front(), HasSubstr("with fit_target_mib 3072 all stays in VRAM"));
}

TEST(PlannerSeeds, AnAutomaticMarginKeepsReap770InVram) {
  const Plan made = plan(reference("REAP770", 8, 65536));
  EXPECT_EQ(made.verdict, Verdict::all_vram) << explain(made);
  EXPECT_EQ(made.ubatch, 2048);
  EXPECT_THAT(made.placement.fit_target_mib, ElementsAre(3072));
}

TEST(PlannerSeeds, Q2KXlIsHybridWithAbout130GibOnTheCpu) {
  const Plan made = plan(reference("UD-Q2_K_XL", 8, 65536));
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);
  EXPECT_NEAR(gib(made.host.model_bytes), 130, 13);
  EXPECT_EQ(made.ubatch, 4096);
  for (const PlannedDevice& device : made.devices) {
    EXPECT_GT(gib(device.model_bytes + device.context_bytes + device.compute_bytes), 84 * 0.93) << device.index;
  }
}

TEST(PlannerSeeds, Q2KXlByLayersComesWithTheSplitThatFits) {
  PlanInputs inputs = reference("UD-Q2_K_XL", 8, 65536);
  inputs.profile.placement.mode = PlacementMode::n_cpu_moe;
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);
  EXPECT_NEAR(gib(made.host.model_bytes), 130, 13);
  ASSERT_EQ(made.placement.tensor_split.size(), 8U);
  EXPECT_EQ(std::accumulate(made.placement.tensor_split.begin(), made.placement.tensor_split.end(), 0.0), 94);
  for (const PlannedDevice& device : made.devices) EXPECT_GE(device.left_bytes, 0) << device.index;
}

TEST(PlannerSeeds, ThePlainSplitWith16LayersOnTheCpuOverflowsAndThePlanSaysWhichSplitFits) {
  PlanInputs inputs = reference("UD-Q2_K_XL", 8, 65536);
  inputs.profile.placement.mode = PlacementMode::n_cpu_moe;
  inputs.profile.placement.n_cpu_moe = 17;
  inputs.profile.placement.tensor_split = {1, 1, 1, 1, 1, 1, 1, 1};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::too_big);
  EXPECT_LT(made.devices[0].model_bytes, 10'000'000'000U);
  const auto over = std::count_if(made.devices.begin(), made.devices.end(),
                                  [](const PlannedDevice& device) { return device.model_bytes > 102'000'000'000U; });
  EXPECT_GE(over, 5);
  ASSERT_FALSE(made.breaks.empty());
  EXPECT_EQ(made.breaks.front().resource, PlanBreak::Resource::vram);
  EXPECT_THAT(made.reasons.back(), HasSubstr("it would fit with n_cpu_moe 17 and tensor_split 2"));
}

TEST(PlannerSeeds, FourSlotsOfSevenDraftsHold14180MibOfState) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 32768);
  const Plan plain = plan(inputs);
  inputs.draft = DraftModel{std::make_shared<const ModelHeaders>(draft_headers()), 7};
  const Plan drafted = plan(inputs);
  const auto context = [](const Plan& made) {
    Bytes sum = made.host.context_bytes;
    for (const PlannedDevice& device : made.devices) sum += device.context_bytes;
    return sum;
  };
  const Bytes state = 4ULL * 464'633'856ULL;
  const Bytes draft_cache = 5ULL * 2 * 8 * 128 * 2 * 32768;
  EXPECT_EQ(context(drafted) - draft_cache - context(plain), 7 * state);
  EXPECT_EQ(8 * state / kMiB, 14179U);
}

TEST(PlannerSeeds, TheDraftsDeviceGetsAMarginForIt) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 2, 16384);
  inputs.draft = DraftModel{std::make_shared<const ModelHeaders>(draft_headers()), 7};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::all_vram) << explain(made);
  ASSERT_EQ(made.placement.fit_target_mib.size(), 8U);
  const int first = made.placement.fit_target_mib.front();
  for (int i = 0; i < 7; ++i) EXPECT_EQ(made.placement.fit_target_mib[static_cast<std::size_t>(i)], first);
  EXPECT_NEAR(made.placement.fit_target_mib.back() - first, 4608, 1024);  // 10240 - 5632 by hand
  EXPECT_GT(made.devices.back().left_bytes, 0);
}

}  // namespace
}  // namespace k3d::planning::test
