// The daemon's own beginning and end: what it finds of an earlier one, and what it leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <thread>

#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

using doubles::Calls;

using Restart = Rig;

TEST_F(Restart, F1_an_activation_that_was_under_way_goes_on_under_the_same_id) {
  Operation open;
  open.id = OperationId("0123");
  open.profile = "a";
  open.state = OperationState::running;
  open.created_at = std::chrono::system_clock::now();
  store_.remember(open);
  store_.put("boot_id", host_.host.boot_id);
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(operation(OperationId("0123")).state, OperationState::succeeded);
  EXPECT_TRUE(until([this] { return store_.operation(OperationId("0123")).ended(); })) << "and so it is kept";
}

TEST_F(Restart, F1_after_a_boot_of_the_host_it_is_interrupted) {
  Operation open;
  open.id = OperationId("0123");
  open.profile = "a";
  open.state = OperationState::running;
  store_.remember(open);
  store_.put("boot_id", "another");
  boot();
  ASSERT_TRUE(until([this] { return operation(OperationId("0123")).ended(); }));
  EXPECT_EQ(operation(OperationId("0123")).error->code, "interrupted");
  EXPECT_EQ(now()->phase, Phase::stopped);
  EXPECT_EQ(now()->last_failure->code, "host_rebooted") << "why nothing runs";
}

TEST_F(Restart, F2_containers_that_never_ran_are_removed) {
  ContainerInfo created = engine_container("a", 3);
  created.status = ContainerStatus::created;
  created.started_at.reset();
  containers_.add(created);
  ContainerInfo asking = created;
  asking.name = "k3d-default-help-0123";
  asking.labels = {{"k3d.help", "default"}};
  containers_.add(asking);
  ContainerInfo foreign = created;
  foreign.name = "k3d-other-1";
  foreign.labels["k3d.instance"] = "other";
  containers_.add(foreign);
  boot();
  ASSERT_TRUE(until([this] { return containers_.names().size() == 1; }));
  EXPECT_EQ(containers_.names(), std::vector<std::string>{"k3d-other-1"}) << "another instance's is left";
  EXPECT_EQ(now()->phase, Phase::stopped);
}

TEST_F(Restart, a_running_engine_is_adopted_by_health_alone_and_a_second_one_stopped) {
  std::filesystem::create_directories(folder(3));
  containers_.add(engine_container("a", 3));
  containers_.add(engine_container("b", 4));
  engines_.first = {Health::loading, Health::loading, Health::loading};
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "a");
  EXPECT_TRUE(now()->engine->adopted);
  EXPECT_EQ(engines_.probed, 0U);
  ASSERT_TRUE(until([this] { return containers_.names() == std::vector<std::string>{name(3)}; }));
  EXPECT_EQ(containers_.running(), 1U);
  EXPECT_TRUE(has_condition("config_drift")) << "it was started from another specification";
  serve("b");
  EXPECT_FALSE(has_condition("config_drift")) << "that engine is gone";
}

TEST_F(Restart, of_two_that_run_the_one_that_serves_stays) {
  std::filesystem::create_directories(folder(4));
  containers_.add(engine_container("a", 3));
  containers_.add(engine_container("b", 4));
  engines_.first = {Health::loading, Health::ok};
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "b");
  EXPECT_TRUE(until([this] { return containers_.names() == std::vector<std::string>{name(4)}; }));
}

TEST_F(Restart, nothing_is_said_to_be_stopped_before_it_is_known_what_runs) {
  std::filesystem::create_directories(folder(3));
  containers_.add(engine_container("a", 3));
  boot();
  bool looked = false;
  asio::co_spawn(loop_, supervisor_->first_look(), [&looked](const std::exception_ptr&) { looked = true; });
  EXPECT_EQ(supervisor_->deactivate({}).error().code, Code::docker_unresponsive);
  ASSERT_TRUE(until([&looked] { return looked; }));
  ASSERT_TRUE(until_ended(deactivate()));
  EXPECT_EQ(containers_.find(name(3)), nullptr);
}

TEST_F(Restart, what_serves_goes_on_over_a_restart_without_drift) {
  boot();
  serve("a");
  finish(false);
  EXPECT_EQ(containers_.running(), 1U);
  calls();
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_TRUE(now()->engine->spec_matches);
  EXPECT_FALSE(has_condition("config_drift"));
  EXPECT_TRUE(calls().empty()) << "nothing was started, stopped or removed";
  serve("b");
  EXPECT_EQ(now()->engine->attempt, 2U);
}

TEST_F(Restart, log_that_comes_through_docker_is_not_there_twice) {
  image().has_shell = false;
  boot();
  serve("a");
  containers_.print(name(1), "first");
  ASSERT_TRUE(until([this] { return supervisor_->log_tail(1, 10).size() == 1; }));
  finish(false);
  boot();
  ASSERT_TRUE(until(Phase::ready));
  containers_.print(name(1), "second");
  ASSERT_TRUE(until([this] { return supervisor_->log_tail(1, 10).size() >= 2; }));
  EXPECT_EQ(supervisor_->log_tail(1, 10), (std::vector<std::string>{"first", "second"}));
}

TEST_F(Restart, F21_docker_away_at_start_and_back) {
  std::filesystem::create_directories(folder(3));
  containers_.add(engine_container("a", 3));
  containers_.down = Error{Code::docker_unavailable, "no such socket", "", ""};
  boot();
  ASSERT_TRUE(until([this] { return has_condition("docker_unavailable"); }));
  EXPECT_EQ(now()->phase, Phase::stopped);
  const OperationId id = activate("b");
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).error->code, "docker_unavailable");
  const Result<Asked> down = supervisor_->deactivate({});
  ASSERT_FALSE(down) << "what runs is not known: it can't be said to be stopped";
  EXPECT_EQ(down.error().code, Code::docker_unavailable);
  containers_.down.reset();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->active_profile, "a") << "adopted though something failed meanwhile";
  EXPECT_TRUE(until([this] { return !has_condition("docker_unavailable"); }));
}

TEST_F(Restart, activating_before_docker_answered_makes_room_for_the_newer_wish) {
  std::filesystem::create_directories(folder(3));
  containers_.add(engine_container("a", 3));
  containers_.hanging = {"list"};
  boot();
  const OperationId id = activate("b");
  pass(milliseconds(50));
  EXPECT_FALSE(operation(id).ended());
  containers_.hanging.clear();
  containers_.wake();
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded);
  EXPECT_EQ(now()->active_profile, "b");
  EXPECT_EQ(containers_.running(), 1U);
}

TEST_F(Restart, activating_what_runs_already_adopts_it) {
  std::filesystem::create_directories(folder(3));
  containers_.add(engine_container("a", 3));
  containers_.hanging = {"list"};
  boot();
  const OperationId id = activate("a");
  pass(milliseconds(50));
  containers_.hanging.clear();
  containers_.wake();
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded);
  EXPECT_TRUE(now()->engine->adopted);
  EXPECT_EQ(containers_.names(), std::vector<std::string>{name(3)});
}

TEST_F(Restart, the_end_that_stops_the_engine) {
  boot();
  serve("a");
  calls();
  finish(true);
  EXPECT_EQ(calls(), (Calls{"drain", "cut", "kill SIGTERM " + name(1), "remove " + name(1)}));
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(Restart, the_end_that_stops_also_stops_what_is_being_started) {
  boot();
  serve("a");
  ASSERT_TRUE(until_ended(deactivate()));
  containers_.hanging = {"start"};
  activate("a");
  ASSERT_TRUE(until(Phase::starting));
  asio::post(loop_, [this] {
    containers_.hanging.clear();
    containers_.wake();
  });
  finish(true);
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(Restart, the_end_waits_for_what_was_given_up_but_still_blocks) {
  boot();
  ASSERT_TRUE(until([this] { return std::count(calls_.begin(), calls_.end(), "list") == 2; }));
  pass(milliseconds(20));
  store_.block(true);
  activate("a");
  pass(milliseconds(50));
  activate("b");  // gives the first preparation up; the store still blocks it
  pass(milliseconds(20));
  std::thread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    store_.block(false);
  });
  finish(false);
  later.join();
}

}  // namespace
}  // namespace k3d::lifecycle
