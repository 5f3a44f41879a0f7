// What loads measured, as it is kept and held against plans.
#include "daemon/lifecycle/measured_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/base/json.hpp"
#include "daemon/lifecycle/planned_label.hpp"

namespace k3d::lifecycle {
namespace {

using testing::HasSubstr;

Profile profile() {
  Profile made;
  made.context = 65536;
  made.slots = 4;
  return made;
}

const LoadIdentity kIdentity{"k3d-engine-fork:1", "files", {"GPU-0", "GPU-1"}};

TEST(MeasuredKey, is_of_all_that_memory_depends_on_and_nothing_else) {
  const std::string base = measured_key(kIdentity, profile());
  EXPECT_TRUE(base.starts_with("measured/"));
  Profile other = profile();
  other.name = "another";
  other.aliases = {"x"};
  EXPECT_EQ(measured_key(kIdentity, other), base);
  other = profile();
  other.slots = 8;
  EXPECT_NE(measured_key(kIdentity, other), base);
  other = profile();
  other.placement.fit_target_mib = {4096};
  EXPECT_NE(measured_key(kIdentity, other), base);
  other = profile();
  other.ubatch = 512;
  EXPECT_NE(measured_key(kIdentity, other), base);
  other = profile();
  other.speculative = Speculative{"draft-dspark", "d", "last", 7};
  EXPECT_NE(measured_key(kIdentity, other), base);
  for (const LoadIdentity& changed : {LoadIdentity{"i", "files", {"GPU-0", "GPU-1"}}, LoadIdentity{"k3d-engine-fork:1", "f", {"GPU-0", "GPU-1"}},
                                      LoadIdentity{"k3d-engine-fork:1", "files", {"GPU-0"}}}) {
    EXPECT_NE(measured_key(changed, profile()), base);
  }
}

TEST(PinnedKey, does_not_depend_on_what_is_pinned) {
  Profile pinned = profile();
  pinned.placement.mode = PlacementMode::pinned;
  EXPECT_EQ(pinned_key(kIdentity, pinned), pinned_key(kIdentity, profile()));
  pinned.context = 4096;
  EXPECT_NE(pinned_key(kIdentity, pinned), pinned_key(kIdentity, profile()));
}

TEST(MeasuredMemoryText, comes_back) {
  MeasuredMemory memory;
  memory.devices = {{1, 2, 3}, {4, 5, 6}};
  memory.host = {7, 8, 9};
  EXPECT_EQ(measured_memory(to_text(memory)), memory);
  for (const char* text : {"", "{", "{}", "[]", R"({"devices":[[1,2]],"host":[1,2,3]})",
                           R"({"devices":[[1,2,-3]],"host":[1,2,3]})", R"({"devices":{},"host":[1,2,3]})",
                           R"({"devices":[["1",2,3]],"host":[1,2,3]})"}) {
    EXPECT_EQ(measured_memory(text), std::nullopt) << text;
  }
}

TEST(PinnedPlacementText, comes_back) {
  const PinnedPlacement pinned{{{21, 73}, {R"(blk\.20\.ffn_(gate|up).*=CUDA1)"}}, 4096, 2048};
  const auto back = pinned_placement(to_text(pinned));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->placed, pinned.placed);
  EXPECT_EQ(back->batch, 4096);
  EXPECT_EQ(back->ubatch, 2048);
  for (const char* text : {"", "{}", R"({"split":[],"tensors":[],"batch":1,"ubatch":1})",
                           R"({"split":["a"],"tensors":[],"batch":1,"ubatch":1})",
                           R"({"split":[1],"tensors":[1],"batch":1,"ubatch":1})", R"({"split":[1],"tensors":[]})"}) {
    EXPECT_FALSE(pinned_placement(text)) << text;
  }
}

Plan plan_of(PlacementMode mode) {
  Plan plan;
  plan.placement.mode = mode;
  for (int i = 0; i < 2; ++i) {
    PlannedDevice device;
    device.index = i;
    device.model_bytes = 80 * kGiB;
    device.context_bytes = 3 * kGiB;
    device.compute_bytes = 2 * kGiB;
    device.reserve_bytes = 4 * kGiB;
    plan.devices.push_back(device);
  }
  plan.host.model_bytes = 100 * kGiB;
  plan.host.cache_bytes = 50 * kGiB;
  return plan;
}

MeasuredMemory as_planned() {
  const MeasuredMemory::Part device{80 * kGiB, 3 * kGiB, 2 * kGiB};
  return {{device, device}, {100 * kGiB, 0, 0}};
}

TEST(Difference, within_five_percent_is_none) {
  for (const PlacementMode mode : {PlacementMode::fit, PlacementMode::n_cpu_moe}) {
    EXPECT_EQ(difference(plan_of(mode), as_planned()), std::nullopt);
    MeasuredMemory near = as_planned();
    near.devices[0].model_bytes += 4 * kGiB;
    near.host.model_bytes -= 4 * kGiB;
    EXPECT_EQ(difference(plan_of(mode), near), std::nullopt);
  }
}

TEST(Difference, more_is_told_with_the_figures) {
  MeasuredMemory apart = as_planned();
  apart.devices[1].compute_bytes += 5 * kGiB;
  const auto words = difference(plan_of(PlacementMode::n_cpu_moe), apart);
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, HasSubstr("GPU 1: " + format_bytes(85 * kGiB) + " planned, " + format_bytes(90 * kGiB) + " taken"));
  EXPECT_EQ(words->find("GPU 0"), std::string::npos);
  apart = as_planned();
  apart.host.model_bytes = 130 * kGiB;
  EXPECT_THAT(difference(plan_of(PlacementMode::fit), apart).value(), HasSubstr("host RAM: " + format_bytes(100 * kGiB) + " planned, " + format_bytes(130 * kGiB)));
}

TEST(Difference, a_fit_may_fill_gpus_otherwise_than_forecast) {
  MeasuredMemory shifted = as_planned();
  shifted.devices[0].model_bytes += 10 * kGiB;
  shifted.devices[1].model_bytes -= 10 * kGiB;
  EXPECT_EQ(difference(plan_of(PlacementMode::fit), shifted), std::nullopt);
  EXPECT_TRUE(difference(plan_of(PlacementMode::n_cpu_moe), shifted));
  shifted.devices.pop_back();
  EXPECT_THAT(difference(plan_of(PlacementMode::fit), shifted).value(), HasSubstr("all GPUs together"));
}

TEST(Difference, small_models_round) {
  Plan tiny;
  tiny.host.model_bytes = 19 * kMiB;
  EXPECT_EQ(difference(tiny, {{}, {19 * kMiB, 0, 60 * kMiB}}), std::nullopt);
}

TEST(SpilledBeyond, counts_from_the_plan) {
  engine::LogSigns signs;
  signs.loaded = true;
  signs.buffers["CPU"].model = 104 * kGiB;
  EXPECT_EQ(spilled_beyond(plan_of(PlacementMode::fit), signs), 0U) << "a hybrid load is not a spill";
  signs.buffers["CUDA_Host"].model = 6 * kGiB;
  EXPECT_EQ(spilled_beyond(plan_of(PlacementMode::fit), signs), 10 * kGiB);
  EXPECT_EQ(spilled_beyond({}, signs), 0U) << "there is no GPU";
  signs.loaded = false;
  EXPECT_EQ(spilled_beyond(plan_of(PlacementMode::fit), signs), 0U);
}

TEST(PlanWords, what_an_adopted_engine_needs_comes_back) {
  Plan made = plan_of(PlacementMode::n_cpu_moe);
  made.placement.n_cpu_moe = 16;
  made.placement.tensor_split = {50, 44};
  made.placement.fit_target_mib = {4096, 8192};
  const auto plan = std::make_shared<const Plan>(made);
  const auto back = plan_from_words(plan_words(plan));
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->placement.mode, PlacementMode::n_cpu_moe);
  EXPECT_EQ(back->placement.n_cpu_moe, 16);
  EXPECT_EQ(back->placement.tensor_split, made.placement.tensor_split);
  EXPECT_EQ(back->placement.fit_target_mib, made.placement.fit_target_mib);
  ASSERT_EQ(back->devices.size(), 2U);
  EXPECT_EQ(back->devices[1].index, 1);
  EXPECT_EQ(back->devices[1].model_bytes, 80 * kGiB);
  EXPECT_EQ(back->devices[1].reserve_bytes, 4 * kGiB);
  EXPECT_EQ(back->host.model_bytes, 100 * kGiB);
  EXPECT_EQ(plan_from_words(plan_words(nullptr)), nullptr);
  EXPECT_EQ(plan_from_words(Json("x")), nullptr);
  EXPECT_EQ(plan_from_words(Json{{"mode", 99}}), nullptr);
}

}  // namespace
}  // namespace k3d::lifecycle
