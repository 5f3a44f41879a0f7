#include "daemon/forecast/exact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace k3d::forecast {
namespace {

Plan planned(PlacementMode mode) {
  Plan plan;
  plan.verdict = Verdict::all_vram;
  plan.placement.mode = mode;
  PlannedDevice device;
  device.layers = 93;
  device.model_bytes = 60 * kGiB;
  device.context_bytes = kGiB;
  device.compute_bytes = kGiB;
  device.reserve_bytes = kGiB;
  device.free_bytes = 80 * kGiB;
  device.left_bytes = 17 * static_cast<std::int64_t>(kGiB);
  plan.devices = {device};
  plan.host.model_bytes = 2 * kGiB;
  plan.host.ram_bytes = 64 * kGiB;
  plan.host.left_bytes = 30 * static_cast<std::int64_t>(kGiB);
  return plan;
}

ExactFigures told(Bytes compute) {
  ExactFigures figures;
  figures.memory.devices = {{60 * kGiB, kGiB, compute}};
  figures.memory.host = {3 * kGiB, 0, kGiB};
  figures.beside = {"GPU 0: the engine counts something else"};
  return figures;
}

TEST(ExactPlan, has_the_engines_figures_and_what_is_left_by_them) {
  Plan plan = planned(PlacementMode::n_cpu_moe);
  take_over(told(5 * kGiB), plan);
  EXPECT_EQ(plan.basis, PlanBasis::engine);
  EXPECT_EQ(plan.devices[0].compute_bytes, 5 * kGiB);
  EXPECT_EQ(plan.devices[0].left_bytes, 13 * static_cast<std::int64_t>(kGiB));
  EXPECT_EQ(plan.host.left_bytes, 28 * static_cast<std::int64_t>(kGiB));
  EXPECT_EQ(plan.verdict, Verdict::all_vram);
  EXPECT_THAT(plan.warnings, testing::Contains(testing::HasSubstr("the engine counts")));
}

TEST(ExactPlan, that_does_not_fit_breaks_where_the_placement_is_explicit) {
  Plan plan = planned(PlacementMode::n_cpu_moe);
  take_over(told(30 * kGiB), plan);
  EXPECT_EQ(plan.verdict, Verdict::too_big);
  ASSERT_EQ(plan.breaks.size(), 1U);
  EXPECT_EQ(plan.breaks[0].need_bytes, 92 * kGiB);
  EXPECT_THAT(plan.reasons.front(), testing::HasSubstr("by the engine's own figures GPU 0"));
  take_over(told(kGiB), plan);
  EXPECT_EQ(plan.verdict, Verdict::all_vram) << "the newest figures count";
  Plan fit = planned(PlacementMode::fit);
  take_over(told(30 * kGiB), fit);
  EXPECT_TRUE(fit.breaks.empty()) << "a fit leaves its margin by itself";
}

}  // namespace
}  // namespace k3d::forecast
