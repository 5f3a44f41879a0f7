// What was serving must not be lost for a wish that can't be met, whatever comes between: newer wishes, a Docker that
// goes away, the end of k3d itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;

Error away() { return {Code::docker_unavailable, "gone", "", ""}; }

Operation open_operation(const std::string& id, const std::string& profile, OperationKind kind = OperationKind::activate) {
  Operation open;
  open.id = OperationId(id);
  open.kind = kind;
  open.profile = profile;
  open.state = OperationState::running;
  open.created_at = std::chrono::system_clock::now();
  return open;
}

class WaysBack : public Rig {
 protected:
  /// An activation of b, of an earlier life, while Docker doesn't tell yet what runs.
  void cancel_before_it_is_taken_up() {
    store_.put("boot_id", host_.host.boot_id);
    store_.remember(open_operation("0123", "b"));
    containers_.hanging = {"list"};
    boot();
    ASSERT_TRUE(until([this] { return !operation(OperationId("0123")).profile.empty(); }));
    ASSERT_TRUE(cancel(OperationId("0123")));
    containers_.hanging.clear();
    containers_.wake();
  }
};

TEST_F(WaysBack, a_newer_wish_while_draining_lets_the_old_one_serve_until_it_can_be_met) {
  settings_->profiles.push_back(profile("a"));
  settings_->profiles.back().name = "c";
  settings_->profiles.back().model = "nowhere";
  boot();
  serve("a");
  traffic_.busy = true;
  const OperationId to_b = activate("b");
  ASSERT_TRUE(until(Phase::draining));
  EXPECT_FALSE(now()->route);
  const OperationId to_c = activate("c");
  EXPECT_EQ(operation(to_b).error->code, "superseded");
  ASSERT_TRUE(until_ended(to_c));
  EXPECT_EQ(operation(to_c).state, OperationState::failed);
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "a");
  EXPECT_TRUE(now()->route);
  traffic_.release();
  pass(milliseconds(50));
  EXPECT_EQ(now()->active_profile, "a") << "the drain that was given up has no say";
  EXPECT_EQ(now()->engine->attempt, 1U) << "never stopped";
  EXPECT_TRUE(until([this] { return store_.desired() == "a"; }));
}

TEST_F(WaysBack, a_failed_wish_that_took_the_place_of_another_returns_to_what_served) {
  settings_->profiles.push_back(profile("a"));
  settings_->profiles.back().name = "c";
  boot();
  serve("a");
  engines_.then = Health::loading;
  activate("b");
  ASSERT_TRUE(until(Phase::loading));
  const OperationId to_c = activate("c");
  ASSERT_TRUE(until([this] { return now()->target_profile == "c" && now()->phase == Phase::loading; }));
  engines_.then = Health::ok;
  containers_.end(name(3), 1);
  ASSERT_TRUE(until_ended(to_c));
  EXPECT_EQ(operation(to_c).rolled_back_to, "a");
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "a");
}

TEST_F(WaysBack, F7_a_return_that_k3ds_end_cut_short_goes_on) {
  boot();
  serve("a");
  containers_.start_errors = {Error{Code::image_missing, "no such image", "", ""}};
  const OperationId to_b = activate("b");
  ASSERT_TRUE(until_ended(to_b));
  containers_.hanging = {"start", "image", "list"};  // the return gets nowhere
  ASSERT_TRUE(until([this] { return store_.get("rolled_back_from").value() == "b"; }));
  finish(false);
  containers_.hanging.clear();
  for (const std::string& left : containers_.names()) containers_.end(left, 0);
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "a");
  EXPECT_EQ(now()->last_failure->profile, "b") << "why it had to return is still shown";
  EXPECT_TRUE(until([this] { return store_.get("rolled_back_from").value() == ""; }));
}

TEST_F(WaysBack, requests_take_no_good_engine_down_for_a_profile_that_failed) {
  boot();
  serve("a");
  containers_.start_errors = {Error{Code::image_missing, "no such image", "", ""}};
  const OperationId to_b = activate("b");
  ASSERT_TRUE(until_ended(to_b));
  ASSERT_TRUE(until([this] { return now()->active_profile == "a"; }));
  const std::uint64_t attempt = now()->engine->attempt;
  const auto want = [this](const std::string& name) {
    return await(supervisor_->ensure_ready({name, true, "request"}, steady_clock::now() + seconds(10)));
  };
  EXPECT_EQ(want("b").error().code, Code::engine_failed);
  EXPECT_EQ(now()->engine->attempt, attempt) << "a went on serving";
  finish(false);
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(want("b").error().code, Code::engine_failed) << "still known";
  EXPECT_EQ(now()->last_failure->profile, "b");
  serve("b");
  EXPECT_FALSE(now()->last_failure);
  EXPECT_TRUE(want("a"));
  EXPECT_TRUE(want("b")) << "a person made it work";
}

TEST_F(WaysBack, requests_try_a_failed_profile_again_once_its_settings_are_others) {
  boot();
  serve("a");
  containers_.start_errors = {Error{Code::image_missing, "no such image", "", ""}};
  ASSERT_TRUE(until_ended(activate("b")));
  ASSERT_TRUE(until([this] { return now()->active_profile == "a"; }));
  on_loop([this] { return supervisor_->override_settings({"b", {{"ubatch", "512"}}, "", "test"}); });
  EXPECT_TRUE(await(supervisor_->ensure_ready({"b", true, "request"}, steady_clock::now() + seconds(10))));
}

TEST_F(WaysBack, F22_a_stop_waits_for_docker_and_loses_no_patience_meanwhile) {
  boot();
  serve("a");
  containers_.down = away();
  const OperationId down = deactivate(true);
  pass(milliseconds(800));  // longer than every stage of a stop
  EXPECT_EQ(now()->phase, Phase::stopping);
  EXPECT_FALSE(operation(down).ended());
  EXPECT_TRUE(has_condition("docker_unavailable"));
  calls();
  containers_.down.reset();
  containers_.wake();
  ASSERT_TRUE(until_ended(down));
  EXPECT_EQ(operation(down).state, OperationState::succeeded);
  const auto seen = calls();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "kill SIGTERM " + name(1)), 1) << "it had all the time it needs";
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "kill SIGKILL " + name(1)), 0);
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(WaysBack, the_failure_of_a_profile_is_gone_once_its_adopted_engine_answers) {
  boot();
  serve("a");
  finish(false);
  store_.put("failure", to_text({[] {
               Failure failure;
               failure.code = "killed";
               failure.profile = "a";
               return failure;
             }(), false}));
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_FALSE(now()->last_failure);
}

TEST_F(WaysBack, asking_twice_for_another_load_means_one) {
  boot();
  serve("a");
  engines_.then = Health::loading;
  const OperationId first = activate("a", true);
  ASSERT_TRUE(until(Phase::loading));
  EXPECT_EQ(activate("a", true), first);
  engines_.then = Health::ok;
  ASSERT_TRUE(until_ended(first));
  EXPECT_EQ(now()->engine->attempt, 2U);
}

TEST_F(WaysBack, F6_an_engine_that_was_being_stopped_when_k3d_ended_is_stopped_and_no_failure) {
  std::filesystem::create_directories(folder(3));
  containers_.add(engine_container("a", 3));
  store_.put("boot_id", host_.host.boot_id);
  store_.put("stopping", "3");
  store_.remember(open_operation("0123", "", OperationKind::deactivate));
  engines_.then = Health::loading;  // it answers no more
  boot();
  ASSERT_TRUE(until_ended(OperationId("0123")));
  EXPECT_EQ(now()->phase, Phase::stopped);
  EXPECT_FALSE(now()->last_failure);
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(WaysBack, an_operation_of_an_earlier_life_that_is_cancelled_before_it_is_taken_up_stays_cancelled) {
  cancel_before_it_is_taken_up();
  pass(milliseconds(200));
  EXPECT_EQ(operation(OperationId("0123")).state, OperationState::cancelled);
  EXPECT_EQ(now()->phase, Phase::stopped);
  EXPECT_EQ(containers_.running(), 0U);
}

TEST_F(WaysBack, a_cancelled_operation_is_not_joined_to_the_load_that_is_adopted) {
  std::filesystem::create_directories(folder(3));
  containers_.add(engine_container("b", 3));
  cancel_before_it_is_taken_up();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(operation(OperationId("0123")).state, OperationState::cancelled);
}

TEST_F(WaysBack, a_newer_wish_while_an_adopted_engine_is_awaited_overtakes_what_was_under_way) {
  std::filesystem::create_directories(folder(3));
  containers_.add(engine_container("a", 3));
  store_.put("boot_id", host_.host.boot_id);
  store_.remember(open_operation("0123", "b"));
  engines_.then = Health::loading;
  boot();
  ASSERT_TRUE(until(Phase::loading));
  const OperationId down = deactivate();
  ASSERT_TRUE(until_ended(down));
  pass(milliseconds(3300));  // as long as an adopted engine is awaited
  EXPECT_EQ(now()->phase, Phase::stopped);
  EXPECT_EQ(operation(OperationId("0123")).error->code, "superseded");
  EXPECT_EQ(containers_.running(), 0U);
}

TEST_F(WaysBack, the_gpus_are_not_given_away_before_it_is_known_what_runs) {
  containers_.hanging = {"list"};
  boot();
  const auto hold = [this] { return supervisor_->hold_gpus(OperationId("gate"), [] {}); };
  EXPECT_EQ(on_loop(hold).error().code, Code::docker_unresponsive);
  containers_.hanging.clear();
  containers_.wake();
  EXPECT_TRUE(until([&] { return now()->held_by == "gate" || on_loop(hold); }));
  finish(true);  // does not wait for the holder
  EXPECT_EQ(containers_.running(), 0U);
}

TEST_F(WaysBack, an_end_during_the_look_at_docker_forgets_nothing) {
  boot();
  serve("a");
  finish(false);
  containers_.down = away();
  boot();
  ASSERT_TRUE(until([this] { return has_condition("docker_unavailable"); }));
  finish(false);
  EXPECT_EQ(store_.desired(), "a");
  containers_.down.reset();
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "a");
}

TEST_F(WaysBack, overrides_of_a_profile_that_a_reload_brings_are_in_force) {
  store_.put("overrides/c", R"({"ubatch": "512"})");
  boot();
  auto more = std::make_shared<Settings>(*settings_);
  more->profiles.push_back(profile("a"));
  more->profiles.back().name = "c";
  await(supervisor_->use(more));
  ASSERT_EQ(now()->overrides.count("c"), 1U);
  serve("c");
  const std::vector<std::string>& argv = now()->engine->argv;
  const auto flag = std::find(argv.begin(), argv.end(), "--ubatch-size");
  ASSERT_NE(flag, argv.end());
  EXPECT_EQ(*(flag + 1), "512");
}

TEST_F(WaysBack, a_question_to_the_image_that_is_given_up_leaves_no_container) {
  containers_.hanging = {"wait"};
  boot();
  const OperationId id = activate("a");
  ASSERT_TRUE(until([this] { return !containers_.names().empty(); })) << "the image is asked for its flags";
  pass(milliseconds(20));
  ASSERT_TRUE(cancel(id));
  EXPECT_TRUE(until([this] { return containers_.names().empty(); }));
  EXPECT_EQ(now()->phase, Phase::stopped);
}

TEST_F(WaysBack, a_remedy_that_k3d_applies_counts_as_another_start_not_as_another_failure) {
  host_.host.gpu_uuids = {"GPU-0"};
  containers_.cdi_devices = {"nvidia.com/gpu=GPU-0"};
  profile("a").gpus.choice = GpuChoice::all;
  profile("a").self_heal = true;
  boot();
  engines_.then = Health::loading;
  activate("a");
  for (std::uint64_t attempt = 1; attempt <= 2; ++attempt) {
    ASSERT_TRUE(until([&] { return now()->phase == Phase::loading && now()->engine->attempt == attempt; }));
    write_log(attempt, "0.10.000.000 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 83968.00 MiB on device 0: "
                       "cudaMalloc failed: out of memory");
    containers_.end(name(attempt), 1);
    ASSERT_TRUE(until([&] { return now()->phase != Phase::loading; }));
    EXPECT_EQ(now()->phase, Phase::backoff) << attempt;
  }
  engines_.then = Health::ok;
  EXPECT_TRUE(until(Phase::ready));
}

}  // namespace
}  // namespace k3d::lifecycle
