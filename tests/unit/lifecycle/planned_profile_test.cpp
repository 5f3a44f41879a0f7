// From a profile to its plan's questions, and from the plan to what is launched and what is refused.
#include "daemon/lifecycle/planned_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace k3d::lifecycle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

GpuState gpu(int index, Bytes used = 0) {
  GpuState state;
  state.index = index;
  state.uuid = "GPU-" + std::to_string(index);
  state.name = "NVIDIA H200";
  state.memory_total_bytes = 100 * kGiB;
  state.memory_used_bytes = used;
  return state;
}

GpuProcess process(Bytes memory, bool ours) {
  GpuProcess made;
  made.pid = 1;
  made.memory_bytes = memory;
  made.ours = ours;
  return made;
}

std::vector<int> indexes(const Gpus& gpus, const std::vector<GpuState>& all) {
  std::vector<int> out;
  const auto chosen = gpus_of(gpus, all);
  if (!chosen) return {-1};
  for (const GpuState& state : *chosen) out.push_back(state.index);
  return out;
}

TEST(GpusOfAProfile, are_in_the_order_of_the_bus) {
  const std::vector<GpuState> all{gpu(0), gpu(1), gpu(2)};
  EXPECT_THAT(indexes({GpuChoice::all, {}}, all), ElementsAre(0, 1, 2));
  EXPECT_THAT(indexes({GpuChoice::listed, {"2", "GPU-0"}}, all), ElementsAre(0, 2));
  EXPECT_THAT(indexes({GpuChoice::none, {}}, all), ElementsAre());
  EXPECT_THAT(indexes({GpuChoice::listed, {"7"}}, all), ElementsAre(-1)) << "it isn't there: that is Docker's to say";
  EXPECT_THAT(indexes({GpuChoice::all, {}}, {}), ElementsAre(-1)) << "no driver: nothing is known of them";
}

TEST(MemoryForTheNext, is_what_is_free_and_what_we_give_back) {
  GpuState shared = gpu(0, 70 * kGiB);
  shared.processes = {process(60 * kGiB, true), process(10 * kGiB, false)};
  GpuState foreign = gpu(1, 40 * kGiB);
  foreign.processes = {process(40 * kGiB, false)};
  GpuState leaving = gpu(2, 50 * kGiB);
  leaving.processes = {};
  GpuState unknown = gpu(3, 50 * kGiB);
  unknown.processes = {process(0, false)};
  unknown.processes[0].memory_bytes.reset();
  GpuState silent = gpu(5, 50 * kGiB);
  silent.processes = {process(0, true), process(10 * kGiB, false)};
  silent.processes[0].memory_bytes.reset();
  const auto memory = memory_for_next({shared, foreign, leaving, unknown, gpu(4, kGiB / 2), silent});
  EXPECT_EQ(memory[0].free_bytes, 90 * kGiB);
  EXPECT_EQ(memory[1].free_bytes, 60 * kGiB);
  EXPECT_EQ(memory[2].free_bytes, 99 * kGiB) << "what belongs to no process is on its way back";
  EXPECT_EQ(memory[3].free_bytes, 50 * kGiB) << "unless it isn't known whose it is";
  EXPECT_EQ(memory[4].free_bytes, 100 * kGiB - kGiB / 2) << "a driver keeps some for itself";
  EXPECT_EQ(memory[5].free_bytes, 90 * kGiB) << "ours, though the driver doesn't say how much it is";
  EXPECT_EQ(memory[1].total_bytes, 100 * kGiB);
}

Plan plan_on(std::size_t gpus) {
  Plan plan;
  plan.verdict = Verdict::hybrid;
  plan.batch = plan.ubatch = 4096;
  for (std::size_t i = 0; i < gpus; ++i) {
    PlannedDevice device;
    device.index = static_cast<int>(i);
    device.layers = 12;
    device.free_bytes = 100 * kGiB;
    device.model_bytes = 80 * kGiB;
    plan.devices.push_back(device);
  }
  return plan;
}

TEST(WithPlan, what_was_open_is_what_was_computed) {
  Plan plan = plan_on(2);
  plan.placement.fit_target_mib = {5120, 10240};
  const Profile fitted = with_plan({}, plan);
  EXPECT_THAT(fitted.placement.fit_target_mib, ElementsAre(5120, 10240));
  EXPECT_EQ(fitted.batch, 4096);
  EXPECT_EQ(fitted.ubatch, 4096);

  Profile asked;
  asked.placement.mode = PlacementMode::n_cpu_moe;
  plan.placement = {};
  plan.placement.mode = PlacementMode::n_cpu_moe;
  plan.placement.n_cpu_moe = 16;
  plan.placement.tensor_split = {50, 44};
  const Profile split = with_plan(asked, plan);
  EXPECT_EQ(split.placement.n_cpu_moe, 16);
  EXPECT_THAT(split.placement.tensor_split, ElementsAre(50, 44));
}

TEST(WithPlan, patterns_and_the_cpu_stay_as_they_are) {
  Profile asked;
  asked.placement.mode = PlacementMode::override_tensors;
  asked.placement.tensors = {"a=CPU"};
  Plan plan = plan_on(1);
  plan.placement.mode = PlacementMode::override_tensors;
  plan.placement.tensor_split = {94};
  EXPECT_EQ(with_plan(asked, plan).placement, asked.placement);
  Profile on_cpu;
  on_cpu.gpus.choice = GpuChoice::none;
  plan = plan_on(0);
  EXPECT_EQ(with_plan(on_cpu, plan).placement, on_cpu.placement);
}

TEST(WithPlan, a_pinned_placement_that_nobody_remembers_is_a_fit) {
  Profile asked;
  asked.placement.mode = PlacementMode::pinned;
  Plan plan = plan_on(2);
  plan.placement.fit_target_mib = {4096};
  EXPECT_EQ(with_plan(asked, plan).placement.mode, PlacementMode::fit);
}

TEST(DraftDevice, last_is_where_the_output_is) {
  Profile profile;
  EXPECT_EQ(draft_device(profile, nullptr, 8), std::nullopt) << "nothing is drafted";
  profile.speculative = Speculative{"draft-dspark", "d", "last", 7};
  EXPECT_EQ(draft_device(profile, nullptr, 8), "CUDA7");
  EXPECT_EQ(draft_device(profile, nullptr, 0), std::nullopt) << "no GPU is known";
  Plan plan = plan_on(4);
  EXPECT_EQ(draft_device(profile, &plan, 4), "CUDA3");
  plan.devices[3].layers = 0;
  EXPECT_EQ(draft_device(profile, &plan, 4), "CUDA2");
  profile.gpus.choice = GpuChoice::none;
  EXPECT_EQ(draft_device(profile, nullptr, 8), std::nullopt);
}

TEST(DraftDevice, an_index_is_this_hosts_and_becomes_the_engines) {
  Profile profile;
  profile.speculative = Speculative{"draft-dspark", "d", "6", 7};
  EXPECT_EQ(draft_device(profile, nullptr, 8), "CUDA6");
  profile.gpus = {GpuChoice::listed, {"4", "6"}};
  EXPECT_EQ(draft_device(profile, nullptr, 2), "CUDA1");
  Plan plan = plan_on(2);
  plan.devices[0].index = 6;
  plan.devices[1].index = 7;
  EXPECT_EQ(draft_device(profile, &plan, 2), "CUDA0");
  profile.speculative->device = "CUDA5";
  EXPECT_EQ(draft_device(profile, &plan, 2), "CUDA5");
}

struct Asked {
  planning::PlanInputs inputs;
  Plan plan = plan_on(2);
  planning::Proof proof;

  Asked() {
    inputs.profile.name = "batch";
    inputs.ram = planning::HostRam{1024 * kGiB, 1000 * kGiB};
  }
  [[nodiscard]] Status check(bool accept_risk = false) const { return check_start({inputs, plan, proof, accept_risk}); }
  void break_vram() {
    plan.verdict = Verdict::too_big;
    plan.breaks = {{PlanBreak::Resource::vram, 1, 104 * kGiB, 100 * kGiB}};
    plan.reasons = {"GPU 1 would need 104 GiB"};
  }
};

TEST(CheckStart, what_fits_starts) {
  EXPECT_TRUE(Asked().check());
}

TEST(CheckStart, what_does_not_fit_is_refused_with_the_numbers_unless_the_risk_is_taken) {
  Asked asked;
  asked.break_vram();
  const Status refused = asked.check();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::does_not_fit);
  EXPECT_EQ(http_status(refused.error().code), 422U);
  EXPECT_THAT(refused.error().message, HasSubstr("GPU 1 would need 104 GiB"));
  EXPECT_THAT(refused.error().hint, HasSubstr("accept_risk"));
  EXPECT_THAT(refused.error().breaks, ElementsAre(Shortage{"vram", 1, 104 * kGiB, 100 * kGiB}));
  EXPECT_TRUE(asked.check(true));
}

TEST(CheckStart, weights_without_room_are_refused_whatever_is_accepted) {
  Asked asked;
  asked.break_vram();
  asked.plan.devices[1].model_bytes = 101 * kGiB;
  ASSERT_FALSE(asked.check(true));
  EXPECT_THAT(asked.check(true).error().message, HasSubstr("GPU 1 would need " + format_bytes(101 * kGiB) + " for weights alone"));
  Asked host;
  host.plan.host.model_bytes = 1025 * kGiB;
  host.plan.breaks = {{PlanBreak::Resource::ram, std::nullopt, 1025 * kGiB, 1000 * kGiB}};
  ASSERT_FALSE(host.check(true));
  EXPECT_THAT(host.check(true).error().message, HasSubstr("host RAM"));
  host.plan.host.model_bytes = 1010 * kGiB;
  EXPECT_TRUE(host.check(true)) << "what is used now may be given up";
  host.inputs.ram.reset();
  host.plan.host.model_bytes = 9999 * kGiB;
  EXPECT_TRUE(host.check(true)) << "nothing is known of this host's memory";
}

TEST(CheckStart, no_quant_serves_blocked_and_none_unproven_in_silence) {
  Asked asked;
  asked.proof.needs_proof = true;
  asked.proof.reasons = {"IQ2_XS is not proven on NVIDIA H200"};
  ASSERT_FALSE(asked.check());
  EXPECT_EQ(asked.check().error().code, Code::quant_unproven);
  EXPECT_THAT(asked.check().error().message, HasSubstr("IQ2_XS is not proven on NVIDIA H200"));
  EXPECT_TRUE(asked.check(true));
  asked.inputs.profile.allow_unproven = true;
  EXPECT_TRUE(asked.check());
  asked.inputs.profile.allow_unproven = false;
  asked.proof.proven = planning::Proven::elsewhere;
  EXPECT_TRUE(asked.check());
  asked.proof.blocked = true;
  ASSERT_FALSE(asked.check(true));
  EXPECT_EQ(asked.check(true).error().code, Code::quant_blocked);
}

TEST(CheckStart, on_the_cpu_nothing_has_to_be_proven) {
  Asked asked;
  asked.plan = plan_on(0);
  asked.proof.needs_proof = true;
  EXPECT_TRUE(asked.check());
}

}  // namespace
}  // namespace k3d::lifecycle
