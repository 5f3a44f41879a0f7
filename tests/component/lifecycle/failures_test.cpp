// Engines and neighbours that fail: at the start, while loading, while they serve; Docker and the store away.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

using doubles::Calls;

class Failures : public Rig {
 protected:
  Failures() { boot(); }
};

TEST_F(Failures, F44_ready_by_health_alone) {
  engines_.first = {Health::refused, Health::loading, Health::loading};
  serve("a");
  EXPECT_TRUE(supervisor_->log_tail(1, 10).empty()) << "no line of the log was needed";
  EXPECT_EQ(engines_.asked, 4U);
}

TEST_F(Failures, F45_a_long_load_that_moves_is_left_alone) {
  profile("a").stall = seconds(1);
  engines_.then = Health::loading;
  const OperationId id = activate("a");
  ASSERT_TRUE(until(Phase::loading));
  for (int i = 0; i < 8; ++i) {
    write_log(1, "load_tensors: " + std::to_string(i));
    pass(milliseconds(300));
  }
  EXPECT_EQ(now()->phase, Phase::loading);
  EXPECT_EQ(containers_.running(), 1U);
  engines_.then = Health::ok;
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded);
}

TEST_F(Failures, F45_a_load_that_reads_without_a_word_is_left_alone_and_its_progress_seen) {
  profile("a").stall = seconds(1);
  engines_.then = Health::loading;
  activate("a");
  ASSERT_TRUE(until(Phase::loading));
  for (int i = 0; i < 8; ++i) {
    host_.io->read_bytes += 100;
    pass(milliseconds(300));
  }
  EXPECT_EQ(now()->phase, Phase::loading);
  EXPECT_EQ(now()->load.total_bytes, 4104U);
  EXPECT_GT(now()->load.done_bytes, 0U);
}

TEST_F(Failures, a_load_that_stands_still_is_given_up_and_the_earlier_profile_comes_back) {
  serve("a");
  profile("b").stall = seconds(1);
  engines_.then = Health::loading;
  const OperationId id = activate("b");
  ASSERT_TRUE(until([this] { return now()->phase == Phase::loading && now()->target_profile == "b"; }));
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).error->code, "load_stalled");
  EXPECT_EQ(operation(id).rolled_back_to, "a");
  EXPECT_EQ(containers_.find(name(2)), nullptr) << "stopped and removed";
  engines_.then = Health::ok;
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "a");
  ASSERT_TRUE(now()->last_failure);
  EXPECT_EQ(now()->last_failure->code, "load_stalled");
  EXPECT_EQ(now()->last_failure->profile, "b");
  EXPECT_TRUE(until([this] { return store_.desired() == "a"; }));
}

TEST_F(Failures, on_failure_stay_down_does_not_go_back) {
  serve("a");
  profile("b").on_failure = OnFailure::stay_down;
  containers_.on_start = [this](doubles::FakeContainer& container) { containers_.end(container.info.name, 1); };
  const OperationId id = activate("b");
  ASSERT_TRUE(until_ended(id));
  EXPECT_TRUE(operation(id).rolled_back_to.empty());
  ASSERT_TRUE(until(Phase::failed));
  EXPECT_TRUE(until([this] { return containers_.names().empty(); }));
}

TEST_F(Failures, F46_bad_answers_of_health_are_no_verdict) {
  const Error garbage{Code::protocol, "not HTTP", "", ""};
  const Error late{Code::timed_out, "no answer within 3 s", "", ""};
  engines_.first = {fail(garbage), fail(late), fail(late), Health::loading, fail(garbage)};
  const Error flap{Code::model_loading, "Loading model", "", ""};
  engines_.first_probes = {fail(flap), fail(flap), fail(flap), fail(flap)};
  serve("a");
  EXPECT_EQ(engines_.probed, 5U) << "503 after 200 is a flap";
}

TEST_F(Failures, an_engine_that_is_healthy_but_never_answers_is_given_up) {
  const Error broken{Code::protocol, "500", "", ""};
  engines_.first_probes = {fail(broken), fail(broken), fail(broken)};
  const OperationId id = activate("a");
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::failed);
  EXPECT_EQ(now()->phase, Phase::failed);
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(Failures, memlock_refused_is_started_once_more_without) {
  containers_.start_errors = {doubles::memlock_refusal()};
  serve("a");
  EXPECT_TRUE(has_condition("memlock_limited"));
  EXPECT_EQ(calls(), (Calls{"create " + name(1), "start " + name(1), "remove " + name(1), "create " + name(1),
                            "start " + name(1), "probe"}));
  EXPECT_FALSE(containers_.find(name(1))->spec.memlock_unlimited);
  serve("b");
  EXPECT_FALSE(has_condition("memlock_limited")) << "the next start was allowed to";
}

TEST_F(Failures, a_start_that_is_refused_otherwise_leaves_nothing) {
  containers_.start_errors = {Error{Code::docker_refused, "the container can't be started", "", "no such device"}};
  const OperationId id = activate("a");
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).error->code, "docker_refused");
  EXPECT_NE(operation(id).error->detail.find("no such device"), std::string::npos);
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(Failures, F34_exit_127_is_the_image_s_error) {
  engines_.then = Health::refused;  // what has ended answers nobody
  containers_.on_start = [this](doubles::FakeContainer& container) { containers_.end(container.info.name, 127); };
  const OperationId id = activate("a");
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).error->code, "image_error");
  EXPECT_EQ(now()->phase, Phase::failed);
  EXPECT_EQ(now()->last_failure->exit_code, 127);
  EXPECT_TRUE(until([this] { return containers_.names().empty(); }));
  pass(milliseconds(100));
  const Calls all = calls();
  EXPECT_EQ(std::count(all.begin(), all.end(), "start " + name(1)), 1) << "no loop of retries";
}

TEST_F(Failures, F34_program_that_can_not_even_say_its_help_is_the_image_s_error) {
  image().help = "exec: llama-server: not found";
  image().help_exit = 127;
  const OperationId id = activate("a");
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).error->code, "image_error");
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(Failures, an_engine_that_dies_while_serving_closes_admission) {
  serve("a");
  const std::uint64_t generation = now()->generation;
  containers_.end(name(1), 137, true);
  ASSERT_TRUE(until(Phase::failed));
  EXPECT_EQ(now()->last_failure->code, "oom");
  EXPECT_FALSE(now()->route);
  EXPECT_GT(now()->generation, generation);
  EXPECT_TRUE(until([this] { return containers_.names().empty(); }));
}

TEST_F(Failures, a_container_removed_by_someone_is_named_so) {
  serve("a");
  asio::co_spawn(loop_, containers_.remove(ContainerId("id-" + name(1))),
                 [](const std::exception_ptr&, const Status&) {});
  ASSERT_TRUE(until(Phase::failed));
  EXPECT_EQ(now()->last_failure->code, "removed_externally");
}

TEST_F(Failures, F22_docker_that_does_not_answer_leaves_the_model_serving) {
  serve("a");
  containers_.down = Error{Code::docker_unresponsive, "Docker did not answer within 5 s", "", ""};
  ASSERT_TRUE(until([this] { return has_condition("docker_unresponsive"); }));
  EXPECT_EQ(now()->phase, Phase::ready);
  EXPECT_TRUE(now()->route);
  const OperationId id = activate("b");
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).error->code, "docker_unresponsive");
  EXPECT_EQ(now()->active_profile, "a");
  containers_.down.reset();
  EXPECT_TRUE(until([this] { return !has_condition("docker_unresponsive"); }));
}

TEST_F(Failures, F22_docker_silent_right_after_a_start_is_no_stall_of_the_load_and_its_end_is_still_seen) {
  profile("a").stall = seconds(1);
  profile("a").on_failure = OnFailure::stay_down;
  engines_.then = Health::loading;
  containers_.on_start = [this](doubles::FakeContainer&) {
    containers_.down = Error{Code::docker_unresponsive, "Docker did not answer within 5 s", "", ""};
  };
  activate("a");
  ASSERT_TRUE(until(Phase::loading));
  pass(milliseconds(1600));
  EXPECT_EQ(now()->phase, Phase::loading) << "the process is not known, so nothing is known to stand still";
  containers_.down.reset();
  containers_.end(name(1), 139);
  ASSERT_TRUE(until(Phase::backoff));
  EXPECT_EQ(now()->last_failure->code, "crash");
}

TEST_F(Failures, an_engine_that_docker_can_not_stop_is_stopped_by_the_next_deactivation) {
  serve("a");
  containers_.unstoppable = true;
  const OperationId first = deactivate(true);
  ASSERT_TRUE(until([this] { return now()->phase == Phase::failed; }, milliseconds(60'000)));
  EXPECT_EQ(operation(first).state, OperationState::failed);
  EXPECT_TRUE(now()->engine) << "it still runs";
  containers_.unstoppable = false;
  const OperationId again = deactivate(true);
  ASSERT_TRUE(until_ended(again));
  EXPECT_EQ(operation(again).state, OperationState::succeeded);
  EXPECT_EQ(containers_.running(), 0U);
  EXPECT_EQ(now()->phase, Phase::stopped);
}

TEST_F(Failures, docker_away_for_a_moment_does_not_end_a_stop) {
  serve("a");
  containers_.down = Error{Code::docker_unavailable, "connection refused", "", ""};
  const OperationId id = deactivate(true);
  ASSERT_TRUE(until(Phase::stopping));
  pass(milliseconds(700));
  containers_.down.reset();
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded);
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(Failures, a_full_disk_is_said_and_stops_nothing) {
  store_.fail_with(Error{Code::disk_full, "no space left", "", ""});
  serve("a");
  EXPECT_TRUE(until([this] { return has_condition("disk_full"); }));
  store_.fail_with(Error{Code::io_failed, "read-only file system", "", ""});
  serve("b");
  EXPECT_TRUE(until([this] { return has_condition("state_not_persisted"); }));
  store_.fail_with(std::nullopt);
  serve("a");
  EXPECT_TRUE(until([this] { return !has_condition("state_not_persisted") && !has_condition("disk_full"); }));
  EXPECT_EQ(store_.desired(), "a");
}

}  // namespace
}  // namespace k3d::lifecycle
