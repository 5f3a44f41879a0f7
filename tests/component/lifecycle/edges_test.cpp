// The edges of the effects: a store that fails for a while, a disk that hangs, Docker that says half, an end in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

class Edges : public Rig {
 protected:
  ~Edges() override { host_.block(false); }

  void set_ubatch(const std::string& value) {
    const auto set = on_loop([&] { return supervisor_->override_settings({"a", {{"ubatch", value}}, "", "test"}); });
    ASSERT_TRUE(set);
  }
  std::string kept(const std::string& key) { return store_.get(key).value().value_or(""); }
  bool was_called(const std::string& call) const { return std::find(calls_.begin(), calls_.end(), call) != calls_.end(); }
  /// What a disk is asked for hangs from now on.
  void hang_disk() {
    host_.block(true);
    asio::co_spawn(loop_, supervisor_->dry_run("b"), [](const std::exception_ptr&, const Result<Launch>&) {});
    ASSERT_TRUE(until([this] { return host_.hangs(); }));
  }
};

// ---- the store ------------------------------------------------------------------------------------------------------

TEST_F(Edges, what_could_not_be_written_is_written_by_itself_once_the_store_can_again_the_newest_of_it) {
  boot();
  store_.fail_with(Error{Code::io_failed, "read-only file system", "", ""});
  set_ubatch("128");
  set_ubatch("256");
  ASSERT_TRUE(until([this] { return has_condition("state_not_persisted"); }));
  store_.fail_with(std::nullopt);
  ASSERT_TRUE(until([this] { return !has_condition("state_not_persisted"); }));
  EXPECT_NE(kept("overrides/a").find("256"), std::string::npos) << kept("overrides/a");
  EXPECT_EQ(await(supervisor_->audit(10, 0))->size(), 2U) << "the history too";
}

TEST_F(Edges, the_condition_stays_until_nothing_is_left_unwritten) {
  boot();
  store_.refuse("overrides/a");
  set_ubatch("128");
  ASSERT_TRUE(until([this] { return has_condition("state_not_persisted"); }));
  serve("a");
  ASSERT_TRUE(until([this] { return store_.desired() == "a"; })) << "what can be written is";
  pass(milliseconds(150));
  EXPECT_TRUE(has_condition("state_not_persisted"));
  EXPECT_EQ(kept("overrides/a"), "");
  store_.refuse("");
  ASSERT_TRUE(until([this] { return !has_condition("state_not_persisted"); }));
  EXPECT_NE(kept("overrides/a").find("128"), std::string::npos);
}

TEST_F(Edges, what_waits_to_be_written_is_tried_once_more_at_the_end) {
  boot();
  pass(milliseconds(100));
  store_.fail_with(Error{Code::disk_full, "no space left", "", ""});
  set_ubatch("128");
  ASSERT_TRUE(until([this] { return has_condition("disk_full"); }));
  store_.fail_with(std::nullopt);
  finish(false);
  EXPECT_NE(kept("overrides/a").find("128"), std::string::npos);
}

// ---- a disk that hangs ----------------------------------------------------------------------------------------------

TEST_F(Edges, a_log_that_can_not_be_read_holds_up_the_verdict_and_not_the_loop) {
  boot();
  serve("a");
  hang_disk();
  write_log(1, "0.10.000.000 E ggml_cuda: CUDA error: out of memory");
  containers_.end(name(1), 134);
  pass(milliseconds(300));
  EXPECT_FALSE(now()->last_failure) << "its log is not read on the loop";
  host_.block(false);
  ASSERT_TRUE(until([this] { return now()->last_failure.has_value(); }));
  EXPECT_EQ(now()->last_failure->code, "cuda_out_of_memory_on_request");
}

TEST_F(Edges, a_log_that_comes_through_docker_is_not_written_on_the_loop) {
  image().has_shell = false;
  boot();
  serve("a");
  hang_disk();
  containers_.print(name(1), "first");
  pass(milliseconds(200));
  EXPECT_TRUE(supervisor_->log_tail(1, 10).empty());
  host_.block(false);
  EXPECT_TRUE(until([this] { return supervisor_->log_tail(1, 10) == std::vector<std::string>{"first"}; }));
}

// ---- a configuration that changes meanwhile -------------------------------------------------------------------------

TEST_F(Edges, a_launch_is_of_one_configuration_also_if_another_comes_while_it_is_worked_out) {
  boot();
  containers_.hanging = {"image"};
  std::optional<Result<Launch>> launch;
  asio::co_spawn(loop_, supervisor_->dry_run("a"), [&launch](const std::exception_ptr&, Result<Launch> made) {
    launch.emplace(std::move(made));
  });
  ASSERT_TRUE(until([this] { return was_called("image engine:1"); }));
  auto other = std::make_shared<Settings>(*settings_);
  other->instance = "other";
  other->state = "/elsewhere";
  EXPECT_TRUE(await(supervisor_->use(other)).empty());
  containers_.hanging.clear();
  containers_.wake();
  ASSERT_TRUE(until([&launch] { return launch.has_value(); }));
  ASSERT_TRUE(*launch) << launch->error().text();
  EXPECT_EQ((*launch)->folder, folder(0));
  EXPECT_EQ((*launch)->container.name, name(0));
  EXPECT_EQ((*launch)->container.labels.at("k3d.instance"), "default");
}

// ---- Docker that says half ------------------------------------------------------------------------------------------

TEST_F(Edges, an_engine_whose_process_docker_did_not_say_at_first_is_looked_after_like_any_other) {
  pace_.quiet = milliseconds(100);
  containers_.on_start = [](doubles::FakeContainer& container) { container.info.pid = 0; };
  boot();
  serve("a");
  engines_.then = fail(Code::timed_out, "no answer");
  pass(milliseconds(300));
  EXPECT_FALSE(has_condition("engine_unresponsive")) << "nothing is known of its process";
  containers_.find(name(1))->info.pid = 4711;
  EXPECT_TRUE(until([this] { return has_condition("engine_unresponsive"); }));
}

TEST_F(Edges, an_adopted_engine_too) {
  pace_.quiet = milliseconds(100);
  ContainerInfo engine = engine_container("a", 3);
  engine.pid = 0;
  std::filesystem::create_directories(folder(3));
  containers_.add(engine);
  boot();
  ASSERT_TRUE(until(Phase::ready));
  containers_.find(name(3))->info.pid = 4711;
  engines_.then = fail(Code::timed_out, "no answer");
  EXPECT_TRUE(until([this] { return has_condition("engine_unresponsive"); }));
}

// ---- ends in between ------------------------------------------------------------------------------------------------

TEST_F(Edges, a_stop_that_ends_while_k3d_ends_takes_nothing_away_from_whoever_waits_for_it) {
  boot();
  serve("a");
  containers_.deaf = true;
  containers_.hanging = {"wait", "kill"};
  containers_.wake();
  deactivate(true);
  ASSERT_TRUE(until([this] { return was_called("kill SIGTERM " + name(1)); }));
  bool done = false;
  asio::co_spawn(loop_, supervisor_->finish(false), [&done](const std::exception_ptr&) { done = true; });
  pass(milliseconds(100));
  EXPECT_FALSE(done) << "Docker has not answered yet";
  containers_.hanging.clear();
  containers_.end(name(1), 0);
  EXPECT_TRUE(until([&done] { return done; }));
  supervisor_.reset();
  journal_.reset();
}

TEST_F(Edges, a_drain_that_was_given_up_does_not_end_the_one_that_follows_it) {
  boot();
  serve("a");
  traffic_.busy = true;
  const OperationId first = activate("b");
  ASSERT_TRUE(until(Phase::draining));
  // In one turn of the loop: the first drain has not ended yet when the second begins.
  const auto asked = on_loop([this, &first] {
    EXPECT_TRUE(supervisor_->cancel(first, "test"));
    return supervisor_->deactivate({false, "", "test"});
  });
  ASSERT_TRUE(asked);
  const OperationId id = asked->operation.id;
  ASSERT_TRUE(until([this] { return traffic_.limits.size() == 2; }));
  pass(milliseconds(100));
  EXPECT_EQ(now()->phase, Phase::draining);
  EXPECT_TRUE(traffic_.cuts.empty()) << "the request goes on";
  traffic_.release();
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded);
}

TEST_F(Edges, an_engine_that_died_while_a_switch_was_prepared_is_given_up_once_the_switch_is_cancelled) {
  pace_.quiet = milliseconds(100);
  boot();
  serve("a");
  containers_.hanging = {"image"};
  const OperationId id = activate("b");
  ASSERT_TRUE(until(Phase::preparing));
  engines_.then = Health::refused;
  // Long after the first time that it was found dead.
  ASSERT_TRUE(until([this, before = engines_.asked] { return engines_.asked > before + 20; }));
  EXPECT_EQ(now()->phase, Phase::preparing);
  ASSERT_TRUE(cancel(id));
  ASSERT_TRUE(until([this] { return now()->last_failure.has_value(); }));
  EXPECT_EQ(now()->last_failure->code, "engine_unreachable");
}

}  // namespace
}  // namespace k3d::lifecycle
