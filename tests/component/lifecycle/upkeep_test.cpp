// What k3d does by itself: trying again, giving the GPUs back, looking after an engine and after Docker.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;
using Upkeep = Rig;

GpuState gpu(Bytes used, std::vector<GpuProcess> processes) {
  GpuState out;
  out.uuid = "GPU-0";
  out.name = "H200";
  out.memory_total_bytes = 140 * kGiB;
  out.memory_used_bytes = used;
  out.processes = std::move(processes);
  return out;
}

TEST_F(Upkeep, F16_an_engine_that_was_killed_is_started_again_and_the_fifth_time_given_up) {
  boot();
  serve("a");
  for (std::uint64_t attempt = 1; attempt < 5; ++attempt) {
    containers_.end(name(attempt), 137);
    ASSERT_TRUE(until(Phase::backoff));
    EXPECT_EQ(now()->backoff->attempt, static_cast<int>(attempt));
    EXPECT_EQ(now()->backoff->limit, 5);
    EXPECT_EQ(now()->target_profile, "a");
    EXPECT_EQ(now()->last_failure->code, "killed");
    ASSERT_TRUE(until(Phase::ready));
    EXPECT_EQ(now()->engine->restarts, static_cast<int>(attempt));
    EXPECT_FALSE(now()->last_failure) << "it serves again";
  }
  containers_.end(name(5), 137);
  ASSERT_TRUE(until(Phase::failed));
  pass(milliseconds(300));
  EXPECT_EQ(containers_.running(), 0U);
  serve("a");
  EXPECT_EQ(now()->engine->restarts, 0) << "asking for it forgets what was";
}

TEST_F(Upkeep, F24_an_engine_that_dockers_restart_ended_is_loaded_again_as_soon_as_docker_is_back) {
  containers_.live_restore = false;
  boot();
  serve("a");
  containers_.down = Error{Code::docker_unavailable, "gone", "", ""};
  containers_.wake();
  ASSERT_TRUE(until([this] { return has_condition("docker_unavailable"); }));
  containers_.end(name(1), 137);
  containers_.down.reset();
  containers_.wake();
  ASSERT_TRUE(until([this] { return now()->last_failure.has_value(); }));
  EXPECT_EQ(now()->last_failure->code, "docker_restart");
  EXPECT_TRUE(until(Phase::ready));
}

TEST_F(Upkeep, F24_also_if_docker_was_back_before_anyone_looked) {
  containers_.live_restore = false;
  boot();
  serve("a");
  containers_.away = std::chrono::system_clock::now();
  containers_.end(name(1), 0);
  ASSERT_TRUE(until([this] { return now()->last_failure.has_value(); }));
  EXPECT_EQ(now()->last_failure->code, "docker_restart");
}

TEST_F(Upkeep, F30_a_container_that_someone_removes_is_not_loaded_again) {
  boot();
  serve("a");
  containers_.end(name(1), 137);
  containers_.find(name(1))->info.status = ContainerStatus::removing;
  ASSERT_TRUE(until(Phase::failed));
  EXPECT_EQ(now()->last_failure->code, "removed_externally");
}

TEST_F(Upkeep, F32_what_the_kernel_killed_for_memory_is_oom_whatever_docker_says) {
  boot();
  serve("a");
  ++host_.killed_for_memory;
  containers_.end(name(1), 137);
  ASSERT_TRUE(until([this] { return now()->last_failure.has_value(); }));
  EXPECT_EQ(now()->last_failure->code, "oom");
}

TEST_F(Upkeep, docker_that_is_gone_is_waited_for_when_nobody_asked) {
  boot();
  serve("a");
  containers_.down = Error{Code::docker_unavailable, "gone", "", ""};
  containers_.end(name(1), 139);
  containers_.wake();
  pass(milliseconds(300));
  containers_.down.reset();
  containers_.wake();
  EXPECT_TRUE(until(Phase::ready));
}

TEST_F(Upkeep, an_idle_engine_is_stopped_and_a_busy_one_is_not) {
  profile("a").idle_stop = seconds(1);
  boot();
  serve("a");
  traffic_.shown.in_flight = 1;
  pass(milliseconds(2500));
  EXPECT_EQ(now()->phase, Phase::ready);
  traffic_.shown.in_flight = 0;
  ASSERT_TRUE(until(Phase::stopped));
  EXPECT_EQ(now()->target_profile, "");
  EXPECT_FALSE(now()->last_failure);
  const auto audit = await(supervisor_->audit(1, 0));
  EXPECT_EQ(audit->at(0).who, "k3d");
  EXPECT_EQ(audit->at(0).action, "deactivate");
}

TEST_F(Upkeep, F36_the_next_engine_waits_until_the_memory_is_released) {
  host_.host.gpu_uuids = {"GPU-0"};
  containers_.cdi_devices = {"nvidia.com/gpu=GPU-0"};
  for (const char* name : {"a", "b"}) profile(name).gpus.choice = GpuChoice::all;
  boot();
  serve("a");
  gpus_.now = std::vector{gpu(100 * kGiB, {{4711, "llama-server", 100 * kGiB, container_id(1), false}})};
  const OperationId id = activate("b");
  ASSERT_TRUE(until([this] { return !calls_.empty() && calls_.back() == "remove " + name(1); }));
  pass(milliseconds(100));
  EXPECT_EQ(now()->phase, Phase::starting);
  EXPECT_EQ(containers_.running(), 0U);
  gpus_.now = std::vector{gpu(0, {})};
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded);
}

TEST_F(Upkeep, F36_memory_that_never_comes_back_is_a_failure_with_numbers) {
  host_.host.gpu_uuids = {"GPU-0"};
  containers_.cdi_devices = {"nvidia.com/gpu=GPU-0"};
  profile("a").gpus.choice = GpuChoice::all;
  gpus_.now = std::vector{gpu(100 * kGiB, {})};
  boot();
  const OperationId id = activate("a");
  ASSERT_TRUE(until([this] { return now()->last_failure.has_value(); }));
  EXPECT_EQ(now()->last_failure->code, "vram_not_released");
  EXPECT_NE(now()->last_failure->detail.find("107.4 GB"), std::string::npos) << now()->last_failure->detail;
  EXPECT_EQ(containers_.running(), 0U);
}

TEST_F(Upkeep, others_on_our_gpus_are_a_condition) {
  host_.host.gpu_uuids = {"GPU-0"};
  containers_.cdi_devices = {"nvidia.com/gpu=GPU-0"};
  profile("a").gpus.choice = GpuChoice::all;
  boot();
  serve("a");
  gpus_.now = std::vector{gpu(140 * kGiB, {{1, "python", 40 * kGiB, "", false}, {2, "llama-server", 100 * kGiB, container_id(1), false}})};
  ASSERT_TRUE(until([this] { return has_condition("foreign_gpu_processes"); }));
  EXPECT_TRUE(now()->gpus.at(0).processes.at(1).ours);
  gpus_.now = std::vector{gpu(100 * kGiB, {{2, "llama-server", 100 * kGiB, container_id(1), false}})};
  EXPECT_TRUE(until([this] { return !has_condition("foreign_gpu_processes"); }));
}

TEST_F(Upkeep, a_second_container_of_the_instance_is_stopped_while_one_serves) {
  boot();
  serve("a");
  containers_.add(engine_container("b", 9));
  ASSERT_TRUE(until([this] { return containers_.names() == std::vector<std::string>{name(1)}; }));
  EXPECT_EQ(now()->active_profile, "a");
}

TEST_F(Upkeep, a_container_that_someone_starts_with_our_labels_is_adopted_when_nothing_runs) {
  boot();
  pass(milliseconds(100));
  std::filesystem::create_directories(folder(9));
  containers_.add(engine_container("b", 9));
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "b");
}

TEST_F(Upkeep, F26_a_container_without_a_process_is_a_ghost) {
  boot();
  serve("a");
  host_.gone = {containers_.find(name(1))->info.pid};
  ASSERT_TRUE(until([this] { return has_condition("ghost_container"); }));
  host_.gone.clear();
  EXPECT_TRUE(until([this] { return !has_condition("ghost_container"); }));
}

TEST_F(Upkeep, a_container_that_was_renamed_is_shown_by_its_new_name) {
  boot();
  serve("a");
  containers_.find(name(1))->info.name = "mine";
  EXPECT_TRUE(until([this] { return now()->engine->container_name == "mine"; }));
}

TEST_F(Upkeep, another_operation_has_the_gpus_and_gives_them_back_when_it_must) {
  boot();
  serve("a");
  EXPECT_EQ(on_loop([this] { return supervisor_->hold_gpus(OperationId("gate"), [] {}); }).error().code, Code::conflict);
  ASSERT_TRUE(until_ended(deactivate()));
  int asked_to_end = 0;
  const auto held = on_loop([this, &asked_to_end] {
    return supervisor_->hold_gpus(OperationId("gate"), [this, &asked_to_end] {
      ++asked_to_end;
      supervisor_->release_gpus(OperationId("gate"));
    });
  });
  ASSERT_TRUE(held);
  EXPECT_EQ(now()->held_by, "gate");
  EXPECT_EQ(on_loop([this] { return supervisor_->hold_gpus(OperationId("bench"), [] {}); }).error().code, Code::gpus_held);
  const auto refused = on_loop([this] { return supervisor_->activate({"a", false, false, false, "", "test"}); });
  EXPECT_EQ(refused.error().code, Code::gpus_held);
  EXPECT_EQ(asked_to_end, 0);
  ASSERT_TRUE(on_loop([this] { return supervisor_->activate({"a", false, false, true, "", "test"}); }));
  EXPECT_TRUE(until(Phase::ready));
  EXPECT_EQ(asked_to_end, 1);
  EXPECT_EQ(now()->held_by, "");
}

TEST_F(Upkeep, overrides_hold_from_the_next_start_on_and_over_a_restart_of_k3d) {
  boot();
  serve("a");
  EXPECT_EQ(on_loop([this] { return supervisor_->override_settings({"a", {{"image", "x"}}, "", "test"}); }).error().code,
            Code::invalid_request);
  ASSERT_TRUE(on_loop([this] { return supervisor_->override_settings({"a", {{"ubatch", "128"}}, "", "test"}); }));
  EXPECT_TRUE(until([this] { return has_condition("config_drift"); })) << "what runs was started without it";
  finish(false);
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->overrides.at("a").at("ubatch"), "128");
  ASSERT_TRUE(until_ended(activate("a", true)));
  const std::vector<std::string>& argv = now()->engine->argv;
  const auto flag = std::find(argv.begin(), argv.end(), "--ubatch-size");
  ASSERT_NE(flag, argv.end());
  EXPECT_EQ(*std::next(flag), "128");
  EXPECT_TRUE(until([this] { return !has_condition("config_drift"); }));
}

TEST_F(Upkeep, self_heal_applies_a_remedy_twice_and_no_more) {
  host_.host.gpu_uuids = {"GPU-0"};
  containers_.cdi_devices = {"nvidia.com/gpu=GPU-0"};
  profile("a").gpus.choice = GpuChoice::all;
  profile("a").self_heal = true;
  boot();
  serve("a");
  std::vector<std::string> ubatches;
  for (std::uint64_t attempt = 1; attempt <= 3; ++attempt) {
    write_log(attempt, "0.10.000.000 E ggml_cuda: CUDA error: out of memory");
    containers_.end(name(attempt), 134);
    ASSERT_TRUE(until([this] { return now()->last_failure.has_value(); }));
    EXPECT_EQ(now()->last_failure->code, "cuda_out_of_memory_on_request");
    const auto set = now()->overrides.find("a");
    ubatches.push_back(set == now()->overrides.end() ? "" : set->second.at("ubatch"));
    if (attempt < 3) ASSERT_TRUE(until(Phase::ready));
  }
  EXPECT_NE(ubatches[0], "");
  EXPECT_NE(ubatches[1], ubatches[0]);
  EXPECT_EQ(ubatches[2], ubatches[1]) << "the third time nothing more is changed";
}

TEST_F(Upkeep, completions_that_hang_while_health_is_fine_are_a_condition_and_no_death) {
  pace_.quiet = milliseconds(100);
  boot();
  serve("a");
  traffic_.shown.in_flight = 1;
  engines_.first_probes.assign(1000, fail(Code::timed_out, "no answer"));
  ASSERT_TRUE(until([this] { return has_condition("engine_unresponsive"); }));
  EXPECT_EQ(now()->phase, Phase::ready);
  traffic_.shown.in_flight = 0;
  EXPECT_TRUE(until([this] { return !has_condition("engine_unresponsive"); }));
}

TEST_F(Upkeep, a_socket_where_nobody_listens_any_more_ends_the_engine_and_another_is_started) {
  pace_.quiet = milliseconds(100);
  boot();
  serve("a");
  engines_.then = Health::refused;
  ASSERT_TRUE(until(Phase::backoff));
  EXPECT_EQ(now()->last_failure->code, "engine_unreachable");
  engines_.then = Health::ok;
  EXPECT_TRUE(until(Phase::ready));
}

TEST_F(Upkeep, a_request_waits_for_its_profile_or_is_told_why_not) {
  profile("b").min_residency = seconds(3600);
  boot();
  const auto want = [this](const std::string& profile, bool switch_over, milliseconds patience) {
    return await(supervisor_->ensure_ready({profile, switch_over, "request"}, steady_clock::now() + patience));
  };
  EXPECT_EQ(want("a", false, milliseconds(50)).error().code, Code::no_active_profile);
  EXPECT_EQ(want("a", true, milliseconds(0)).error().code, Code::model_loading) << "begun, not waited for";
  EXPECT_TRUE(want("a", false, seconds(10)));
  EXPECT_EQ(want("b", false, milliseconds(50)).error().code, Code::profile_not_active);
  EXPECT_TRUE(want("b", true, seconds(10)));
  EXPECT_EQ(want("a", true, milliseconds(50)).error().code, Code::profile_not_active) << "b stays for its residency";
  EXPECT_EQ(want("c", true, milliseconds(50)).error().code, Code::profile_not_active);
  EXPECT_EQ(now()->active_profile, "b");
}

TEST_F(Upkeep, what_is_asked_for_is_in_the_audit_trail_refusals_too) {
  boot();
  serve("a");
  EXPECT_FALSE(on_loop([this] { return supervisor_->activate({"nope", false, false, false, "why", "uid 7"}); }));
  const auto audit = await(supervisor_->audit(10, 0));
  ASSERT_EQ(audit->size(), 2U);
  EXPECT_EQ(audit->at(0).subject, "nope");
  EXPECT_EQ(audit->at(0).who, "uid 7");
  EXPECT_EQ(audit->at(0).reason, "why");
  EXPECT_EQ(audit->at(0).outcome, "unknown_profile");
  EXPECT_EQ(audit->at(1).outcome, "accepted");
  EXPECT_FALSE(audit->at(1).operation.empty());
}

TEST_F(Upkeep, another_configuration_disturbs_nothing_that_runs_and_says_what_differs) {
  boot();
  serve("a");
  auto changed = std::make_shared<Settings>(*settings_);
  changed->profiles[0].slots = 2;
  EXPECT_EQ(await(supervisor_->use(changed)), std::vector<std::string>{"a"});
  EXPECT_TRUE(has_condition("config_drift"));
  EXPECT_EQ(now()->phase, Phase::ready);
  EXPECT_EQ(await(supervisor_->use(settings_)), std::vector<std::string>{});
  EXPECT_FALSE(has_condition("config_drift"));
  auto without = std::make_shared<Settings>(*settings_);
  without->profiles.erase(without->profiles.begin());
  EXPECT_EQ(await(supervisor_->use(without)), std::vector<std::string>{"a"}) << "it is configured no more";
  EXPECT_EQ(now()->active_profile, "a");
}

TEST_F(Upkeep, after_a_boot_the_profile_that_the_setting_names_is_started) {
  settings_->boot = {Boot::Choice::profile, "b"};
  store_.put("boot_id", "another");
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "b");
  ASSERT_TRUE(until_ended(deactivate()));
  finish(false);
  boot();
  pass(milliseconds(300));
  EXPECT_EQ(now()->phase, Phase::stopped) << "a restart of k3d is no boot";
}

TEST_F(Upkeep, a_failure_is_still_known_after_a_restart_of_k3d) {
  boot();
  serve("a");
  write_log(1, "0.10.000.000 E ggml_cuda: CUDA error: no kernel image is available for execution");
  containers_.end(name(1), 134);
  ASSERT_TRUE(until(Phase::failed));
  finish(false);
  boot();
  ASSERT_TRUE(until(Phase::failed));
  EXPECT_EQ(now()->last_failure->code, "gpu_unavailable");
  EXPECT_EQ(now()->target_profile, "a");
}

}  // namespace
}  // namespace k3d::lifecycle
