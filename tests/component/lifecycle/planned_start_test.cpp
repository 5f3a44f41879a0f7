// A start by its plan, with the full-size model of the reference and the log of a real load of it on two H200.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "tests/component/lifecycle/rig.hpp"
#include "tests/component/lifecycle/sparse_model.hpp"
#include "tests/unit/planning/memory_k3.hpp"

namespace k3d::lifecycle {
namespace {

using testing::HasSubstr;

class PlannedStart : public Rig {
 protected:
  PlannedStart() {
    write_sparse(state_ / "large.gguf", planning::test::kimi_k3("UD-IQ2_XXS"));
    settings_->models["large"].name = "large";
    settings_->models["large"].path = state_ / "large.gguf";
    Profile large = profile("a");
    large.name = "large";
    large.model = "large";
    large.gpus.choice = GpuChoice::all;
    large.context = 65536;
    large.slots = 4;
    large.ubatch = 2048;
    large.batch = 2048;
    large.placement.fit_target_mib = {4096};
    large.allow_unproven = true;
    settings_->profiles.push_back(large);
    host_.host.ram_bytes = 1024 * kGiB;
    host_.host.available_ram_bytes = 1000 * kGiB;
    host_.host.gpu_uuids = {"GPU-0", "GPU-1"};
    containers_.cdi_devices = {"nvidia.com/gpu=GPU-0", "nvidia.com/gpu=GPU-1"};
    gpus_.now = std::vector<GpuState>{card(0), card(1)};
  }

  static GpuState card(int index) {
    GpuState state;
    state.index = index;
    state.uuid = "GPU-" + std::to_string(index);
    state.name = "NVIDIA H200";
    state.memory_total_bytes = 143'155 * kMiB;
    return state;
  }
  /// Someone else has nearly all of it.
  static GpuState crowded(int index) {
    GpuState state = card(index);
    state.memory_used_bytes = 140'000 * kMiB;
    GpuProcess other;
    other.pid = 99;
    other.memory_bytes = state.memory_used_bytes;
    state.processes = {other};
    return state;
  }
  /// Engines write what a real one wrote from now on. That one mapped its files, of which it then tells whole ranges: in
  /// their place is what its fit had counted.
  void log_for_real() {
    containers_.on_start = [this](doubles::FakeContainer& container) {
      const std::string attempt = container.info.labels.at("k3d.attempt");
      std::ifstream real(K3D_SOURCE_DIR "/tests/golden/engine-logs/ready-fit-hybrid.log", std::ios::binary);
      std::ofstream log(folder(std::stoull(attempt)) / "engine.log", std::ios::binary);
      for (std::string line; std::getline(real, line);) {
        if (line.find("CPU_Mapped") == std::string::npos) log << line << "\n";
        if (line.find("offloaded 94/94") != std::string::npos) {
          log << "1.39.858.021 I load_tensors:          CPU model buffer size = " << host_mib_ << ".00 MiB\n";
        }
      }
    };
  }
  std::string value(const std::string& flag) const {
    const auto snapshot = now();
    const auto& argv = snapshot->engine->argv;
    const auto found = std::find(argv.begin(), argv.end(), flag);
    return found == argv.end() ? "" : *(found + 1);
  }
  int host_mib_ = 416'402;  ///< weights in this host's memory, as the log tells

  Result<std::shared_ptr<const Plan>> plan(bool accept_risk = false) {
    return await(supervisor_->plan("large", accept_risk));
  }
};

TEST_F(PlannedStart, what_is_computed_is_launched_and_shown) {
  profile("large").placement.fit_target_mib.clear();
  profile("large").batch.reset();
  profile("large").ubatch.reset();
  boot();
  serve("large");
  const auto engine = now()->engine;
  ASSERT_NE(engine->planned, nullptr);
  EXPECT_EQ(engine->planned->verdict, Verdict::hybrid);
  EXPECT_EQ(engine->planned->devices.size(), 2U);
  EXPECT_GT(engine->planned->placement.cpu_expert_layers, 50);
  EXPECT_EQ(value("--fit-target"), "4096");
  EXPECT_EQ(value("--ubatch-size"), "4096") << "with experts in host RAM steps are large";
}

TEST_F(PlannedStart, the_fewest_expert_layers_are_launched_with_their_split) {
  profile("large").placement = {};
  profile("large").placement.mode = PlacementMode::n_cpu_moe;
  boot();
  serve("large");
  const auto planned = now()->engine->planned;
  ASSERT_NE(planned, nullptr);
  EXPECT_EQ(value("--n-cpu-moe"), std::to_string(planned->placement.n_cpu_moe.value()));
  EXPECT_GT(planned->placement.n_cpu_moe.value(), 40);
  EXPECT_EQ(value("--fit"), "off");
  EXPECT_NE(value("--tensor-split"), "");
}

TEST_F(PlannedStart, what_does_not_fit_fails_with_the_numbers_and_nothing_is_touched) {
  boot();
  serve("a");
  gpus_.now = std::vector<GpuState>{crowded(0), crowded(1)};
  host_.host.ram_bytes = 256 * kGiB;
  host_.host.available_ram_bytes = 250 * kGiB;
  const auto refused = plan(true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::does_not_fit);
  EXPECT_FALSE(refused.error().breaks.empty());
  const OperationId id = activate("large");
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::failed);
  EXPECT_EQ(operation(id).error->code, "does_not_fit");
  EXPECT_EQ(now()->active_profile, "a");
}

TEST_F(PlannedStart, what_runs_is_counted_as_free) {
  boot();
  serve("large");
  GpuState mine = crowded(0);
  mine.processes[0].container = container_id(1);
  gpus_.now = std::vector<GpuState>{mine, card(1)};
  const auto planned = plan();
  ASSERT_TRUE(planned) << planned.error().text();
  EXPECT_EQ((*planned)->devices[0].free_bytes, 143'155 * kMiB);
}

TEST_F(PlannedStart, an_unproven_quant_is_refused_until_somebody_takes_the_risk) {
  profile("large").allow_unproven = false;
  boot();
  const auto refused = plan();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::quant_unproven);
  EXPECT_TRUE(plan(true));
}

TEST_F(PlannedStart, an_unproven_quant_that_runs_is_a_condition_also_after_a_restart_of_k3d) {
  boot();
  serve("large");
  EXPECT_TRUE(has_condition("unproven_quant"));
  finish(false);
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_TRUE(has_condition("unproven_quant"));
  serve("a");
  EXPECT_FALSE(has_condition("unproven_quant"));
}

TEST_F(PlannedStart, a_real_load_is_as_planned_and_the_next_plan_counts_with_it) {
  log_for_real();
  boot();
  EXPECT_EQ(plan().value()->basis, PlanBasis::computed);
  serve("large");
  ASSERT_TRUE(until([this] { return now()->engine && now()->engine->measured.has_value(); }));
  const MeasuredMemory measured = *now()->engine->measured;
  ASSERT_EQ(measured.devices.size(), 2U);
  EXPECT_EQ(measured.devices[0].compute_bytes / kMiB, 5265U);
  EXPECT_FALSE(has_condition("memory_differs_from_plan"));
  EXPECT_FALSE(has_condition("experts_spilled")) << "they were planned to be there";
  const auto next = plan();
  ASSERT_TRUE(next);
  EXPECT_EQ((*next)->basis, PlanBasis::measured);
  EXPECT_EQ((*next)->devices[0].compute_bytes, measured.devices[0].compute_bytes);
  EXPECT_TRUE((*next)->load_seconds.has_value());
}

TEST_F(PlannedStart, a_load_that_took_other_memory_is_told) {
  profile("large").placement = {};
  profile("large").placement.mode = PlacementMode::n_cpu_moe;  // another placement than that of the log
  profile("large").placement.n_cpu_moe = 80;
  log_for_real();
  boot();
  serve("large");
  EXPECT_TRUE(until([this] { return has_condition("memory_differs_from_plan"); }));
  EXPECT_TRUE(until_ended(deactivate()));
  EXPECT_FALSE(has_condition("memory_differs_from_plan"));
}

TEST_F(PlannedStart, experts_that_were_planned_on_the_gpus_are_missed) {
  host_mib_ = 500'000;
  log_for_real();
  boot();
  serve("large");
  EXPECT_TRUE(until([this] { return has_condition("experts_spilled"); }));
}

TEST_F(PlannedStart, a_good_fit_is_replayed_without_a_search) {
  log_for_real();
  profile("large").placement = {};
  profile("large").placement.mode = PlacementMode::pinned;
  boot();
  serve("large");
  EXPECT_EQ(value("--fit"), "on") << "nothing is remembered yet";
  ASSERT_TRUE(until([this] { return plan().value()->placement.mode == PlacementMode::pinned; }));
  const OperationId id = activate("large", true);
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded);
  EXPECT_EQ(value("--fit"), "off");
  EXPECT_EQ(value("--tensor-split"), "21,73");
  EXPECT_THAT(value("--override-tensor"), HasSubstr("blk\\.20\\.ffn_(gate|up|gate_up|down).*=CUDA1"));
  EXPECT_EQ(value("--ubatch-size"), "2048");
}

TEST_F(PlannedStart, headers_that_cannot_be_planned_start_as_ever) {
  profile("a").gpus.choice = GpuChoice::all;
  boot();
  serve("a");
  EXPECT_EQ(now()->engine->planned, nullptr);
  EXPECT_EQ(value("--fit-target"), "4096");
}

TEST_F(PlannedStart, gpus_that_cannot_be_read_hold_up_no_start) {
  gpus_.now = fail(Code::timed_out, "the driver hangs");
  boot();
  EXPECT_EQ(plan().value(), nullptr);
}

}  // namespace
}  // namespace k3d::lifecycle
