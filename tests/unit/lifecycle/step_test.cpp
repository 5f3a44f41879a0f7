#include "daemon/lifecycle/step.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/unit/lifecycle/samples.hpp"

namespace k3d::lifecycle {
namespace {

Target target_of(const std::string& profile, const std::string& operation) {
  Target target;
  target.profile = profile;
  target.operation = OperationId(operation);
  return target;
}

Failure failure(const std::string& code, bool retryable = false) {
  Failure f;
  f.code = code;
  f.retryable = retryable;
  return f;
}

template <class E>
std::vector<E> all(const Step& step) {
  std::vector<E> found;
  for (const Effect& effect : step.effects) {
    if (const auto* e = std::get_if<E>(&effect)) found.push_back(*e);
  }
  return found;
}

/// Runs events from `state` and keeps the last step.
struct Play {
  InstanceState state;
  Step last;
  Facts facts;

  Play& then(const Event& event) {
    last = step(state, event, facts);
    state = last.state;
    return *this;
  }
};

Play ready_with(const std::string& profile) { return {state::Ready{engine_of(profile, 1), {}}, {}, {}}; }

TEST(Step, from_nothing_to_ready) {
  Play run{state::Stopped{}, {}, {}};
  run.then(event::Activate{target_of("a", "op")});
  EXPECT_EQ(phase_of(run.state), Phase::preparing);
  ASSERT_EQ(all<effect::Prepare>(run.last).size(), 1U);
  run.then(event::Prepared{OperationId("op"), launch_of("a", 1)});
  EXPECT_EQ(phase_of(run.state), Phase::starting);
  EXPECT_EQ(all<effect::Clear>(run.last).size(), 1U);
  EXPECT_TRUE(all<effect::Start>(run.last).empty()) << "first the GPUs' memory must be free";
  EXPECT_EQ(all<effect::Persist>(run.last).at(0).profile, "a") << "the intent is written before the action";
  run.then(event::VramFree{1});
  EXPECT_EQ(all<effect::Start>(run.last).size(), 1U);
  run.then(event::Started{engine_of("a", 1)}).then(event::HealthOk{1});
  EXPECT_EQ(phase_of(run.state), Phase::probing);
  EXPECT_EQ(active_profile(run.state), "");
  run.then(event::ProbeOk{1, {}});
  EXPECT_EQ(active_profile(run.state), "a");
  EXPECT_EQ(all<effect::OperationEnd>(run.last).at(0).state, OperationState::succeeded);
}

TEST(Step, a_switch_serves_the_old_profile_until_it_is_drained) {
  Play run = ready_with("a");
  run.then(event::Activate{target_of("b", "op")});
  EXPECT_EQ(active_profile(run.state), "a");
  EXPECT_EQ(target_profile(run.state), "b");
  run.then(event::Prepared{OperationId("op"), launch_of("b", 2)});
  EXPECT_EQ(phase_of(run.state), Phase::draining);
  EXPECT_TRUE(all<effect::Start>(run.last).empty()) << "never two engines";
  run.then(event::Drained{1});
  EXPECT_EQ(active_profile(run.state), "");
  run.then(event::EngineStopped{1}).then(event::VramFree{2});
  EXPECT_EQ(all<effect::Start>(run.last).at(0).launch.attempt, 2U);
}

TEST(Step, a_failed_preparation_leaves_the_old_profile_serving) {
  Play run = ready_with("a");
  run.then(event::Activate{target_of("b", "op")});
  run.then(event::PrepareFailed{OperationId("op"), failure("model_missing")});
  EXPECT_EQ(phase_of(run.state), Phase::ready);
  const auto end = all<effect::OperationEnd>(run.last).at(0);
  EXPECT_EQ(end.state, OperationState::failed);
  EXPECT_EQ(end.error->code, "model_missing");
  EXPECT_EQ(end.rolled_back_to, "a");
}

TEST(Step, a_failed_start_brings_the_old_profile_back_unless_told_not_to) {
  for (const bool roll_back : {true, false}) {
    Play run = ready_with("a");
    run.facts.roll_back = roll_back;
    run.then(event::Activate{target_of("b", "op")}).then(event::Prepared{OperationId("op"), launch_of("b", 2)});
    run.then(event::Drained{1}).then(event::EngineStopped{1}).then(event::VramFree{2});
    run.then(event::Started{engine_of("b", 2)});
    run.then(event::Exited{2, failure("model_truncated")});
    EXPECT_EQ(all<effect::Discard>(run.last).size(), 1U);
    EXPECT_EQ(phase_of(run.state), roll_back ? Phase::preparing : Phase::failed);
    EXPECT_EQ(target_profile(run.state), roll_back ? "a" : "b");
    if (!roll_back) continue;
    // A return that fails too is not returned from.
    run.then(event::Prepared{OperationId(), launch_of("a", 3)}).then(event::VramFree{3});
    run.then(event::StartFailed{3, failure("image_error")});
    EXPECT_EQ(phase_of(run.state), Phase::failed);
  }
}

TEST(Step, cancelling_before_the_old_engine_stops_leaves_it_serving) {
  for (const bool draining : {false, true}) {
    Play run = ready_with("a");
    run.then(event::Activate{target_of("b", "op")});
    if (draining) run.then(event::Prepared{OperationId("op"), launch_of("b", 2)});
    run.then(event::Cancel{OperationId("op")});
    EXPECT_EQ(phase_of(run.state), Phase::ready);
    EXPECT_EQ(all<effect::OperationEnd>(run.last).at(0).state, OperationState::cancelled);
    run.then(event::Prepared{OperationId("op"), launch_of("b", 2)});
    EXPECT_FALSE(run.last.ignored.empty());
  }
}

TEST(Step, cancelling_a_load_stops_the_engine_and_nothing_runs) {
  Play run{state::Loading{target_of("a", "op"), engine_of("a", 1)}, {}, {}};
  run.then(event::Cancel{OperationId("another")});
  EXPECT_FALSE(run.last.ignored.empty());
  run.then(event::Cancel{OperationId("op")}).then(event::EngineStopped{1});
  EXPECT_EQ(phase_of(run.state), Phase::stopped);
}

TEST(Step, a_newer_activation_supersedes_one_under_way) {
  Play run{state::Loading{target_of("a", "one"), engine_of("a", 1)}, {}, {}};
  run.then(event::Activate{target_of("b", "two")});
  EXPECT_EQ(all<effect::OperationEnd>(run.last).at(0).error->code, "superseded");
  EXPECT_EQ(all<effect::Stop>(run.last).size(), 1U);
  run.then(event::EngineStopped{1});
  EXPECT_EQ(all<effect::Prepare>(run.last).at(0).target.profile, "b");
}

TEST(Step, superseded_while_it_drains_the_old_profile_serves_again_until_the_newer_one_is_prepared) {
  Play run = ready_with("a");
  run.then(event::Activate{target_of("b", "op")}).then(event::Prepared{OperationId("op"), launch_of("b", 2)});
  ASSERT_EQ(phase_of(run.state), Phase::draining);
  run.then(event::Activate{target_of("c", "next")});
  ASSERT_EQ(phase_of(run.state), Phase::preparing);
  EXPECT_EQ(active_profile(run.state), "a");
  EXPECT_EQ(lifecycle::target_of(run.state)->fall_back_to, "a");
  EXPECT_EQ(all<effect::CancelDrain>(run.last).size(), 1U);
  ASSERT_EQ(all<effect::OperationEnd>(run.last).size(), 1U);
  EXPECT_EQ(all<effect::OperationEnd>(run.last)[0].error->code, "superseded");
  EXPECT_TRUE(all<effect::Stop>(run.last).empty());
  run.then(event::PrepareFailed{OperationId("next"), failure("model_missing")});
  EXPECT_EQ(phase_of(run.state), Phase::ready) << "nothing was lost for a wish that can't be met";
}

TEST(Step, whatever_takes_the_place_of_a_switch_keeps_its_way_back) {
  const auto to_b = [] {
    Play run = ready_with("a");
    return run.then(event::Activate{target_of("b", "op")}).then(event::Prepared{OperationId("op"), launch_of("b", 2)});
  };
  const auto next = event::Activate{target_of("c", "next")};
  const auto back_of = [&next](Play run) { return lifecycle::target_of(run.then(next).state)->fall_back_to; };
  Play stopping = to_b().then(event::Drained{1});
  EXPECT_EQ(back_of(stopping), "a");
  Play clearing = stopping.then(event::EngineStopped{1});
  EXPECT_EQ(back_of(clearing), "a");
  Play starting = clearing.then(event::VramFree{2});
  EXPECT_EQ(back_of(starting), "a");
  Play loading = starting.then(event::Started{engine_of("b", 2)});
  EXPECT_EQ(back_of(loading), "a");
  Play gone = ready_with("a");
  gone.then(event::Activate{target_of("b", "op")}).then(event::Exited{1, failure("crash")});
  EXPECT_EQ(back_of(gone), "a") << "also when it ended by itself meanwhile";
  Play back = loading.then(event::Exited{2, failure("crash")});
  ASSERT_EQ(target_profile(back.state), "a") << "rolled back";
  EXPECT_EQ(back_of(back), "a") << "it was about to serve again";
  Play down = to_b().then(event::Drained{1}).then(event::Deactivate{OperationId("down"), false});
  EXPECT_EQ(back_of(down), "") << "nothing was meant to run any more";
}

TEST(Step, a_return_is_remembered_until_it_serves) {
  Play run = ready_with("a");
  run.then(event::Activate{target_of("b", "op")}).then(event::Prepared{OperationId("op"), launch_of("b", 2)});
  run.then(event::Drained{1}).then(event::EngineStopped{1}).then(event::VramFree{2});
  run.then(event::StartFailed{2, failure("image_error")});
  ASSERT_EQ(all<effect::Persist>(run.last).size(), 1U);
  EXPECT_EQ(all<effect::Persist>(run.last)[0].profile, "a");
  EXPECT_EQ(all<effect::Persist>(run.last)[0].rolled_back_from, "b");
  run.then(event::Prepared{{}, launch_of("a", 3)});
  EXPECT_EQ(all<effect::Persist>(run.last)[0].rolled_back_from, "b");
  run.then(event::VramFree{3}).then(event::Started{engine_of("a", 3)}).then(event::HealthOk{3}).then(event::ProbeOk{3, {}});
  ASSERT_EQ(phase_of(run.state), Phase::ready);
  ASSERT_EQ(all<effect::Persist>(run.last).size(), 1U);
  EXPECT_EQ(all<effect::Persist>(run.last)[0].rolled_back_from, "");
}

TEST(Step, an_engine_that_is_found_while_another_is_on_its_way_can_be_returned_to) {
  Play run{state::Stopped{}, {}, {}};
  run.then(event::Activate{target_of("b", "op")}).then(event::Adopted{engine_of("a", 1)});
  EXPECT_EQ(phase_of(run.state), Phase::stopping);
  EXPECT_EQ(lifecycle::target_of(run.state)->fall_back_to, "a");
  Engine adopted = engine_of("a", 1);
  adopted.adopted = true;
  Play found{state::Stopped{}, {}, {}};
  found.then(event::Adopted{adopted}).then(event::Activate{target_of("b", "op")});
  EXPECT_EQ(lifecycle::target_of(found.state)->fall_back_to, "a") << "it may have served all the while";
}

TEST(Step, a_start_by_other_settings_is_not_another_failure_of_the_same_start) {
  Play run{state::Stopped{}, {}, {}};
  run.then(event::Activate{target_of("a", "op")}).then(event::Prepared{OperationId("op"), launch_of("a", 1)});
  Failure memory = failure("cuda_out_of_memory", true);
  memory.remedied = true;
  for (std::uint64_t attempt = 1; attempt <= 3; ++attempt) {
    run.then(event::VramFree{attempt}).then(event::Started{engine_of("a", attempt)});
    run.then(event::Exited{attempt, memory});
    ASSERT_EQ(phase_of(run.state), Phase::backoff) << attempt;
    run.then(event::RetryDue{std::get<state::Backoff>(run.state).retry_at});
    run.then(event::Prepared{OperationId("op"), launch_of("a", attempt + 1)});
  }
}

TEST(Step, an_activation_of_what_k3d_loads_by_itself_joins_the_load) {
  Play run{state::Loading{target_of("a", ""), engine_of("a", 1)}, {}, {}};
  Play again = run;
  run.then(event::Activate{target_of("a", "op")});
  EXPECT_EQ(phase_of(run.state), Phase::loading);
  EXPECT_TRUE(all<effect::Stop>(run.last).empty()) << "17 minutes would be thrown away";
  run.then(event::HealthOk{1}).then(event::ProbeOk{1, {}});
  EXPECT_EQ(all<effect::OperationEnd>(run.last).at(0).operation.value, "op");
  Target restart = target_of("a", "op");
  restart.restart = true;
  again.then(event::Activate{restart});
  EXPECT_EQ(all<effect::Stop>(again.last).size(), 1U) << "asked for anew";
}

TEST(Step, superseded_while_its_container_is_created_stops_it_as_soon_as_it_is_there) {
  Play run{state::Starting{target_of("a", "one"), launch_of("a", 1)}, {}, {}};
  run.then(event::Deactivate{OperationId("two"), false}).then(event::Started{engine_of("a", 1)});
  EXPECT_EQ(all<effect::Stop>(run.last).size(), 1U);
  run.then(event::EngineStopped{1});
  EXPECT_EQ(phase_of(run.state), Phase::stopped);
}

TEST(Step, an_engine_that_could_not_be_stopped_goes_before_anything_else_starts) {
  const Play stuck{state::Failed{"a", failure("docker_unresponsive"), engine_of("a", 1)}, {}, {}};
  ASSERT_NE(running_engine(stuck.state), nullptr);
  Play down = stuck;
  down.then(event::Deactivate{OperationId("op"), false});
  EXPECT_EQ(all<effect::Stop>(down.last).size(), 1U);
  EXPECT_TRUE(all<effect::OperationEnd>(down.last).empty()) << "it has not happened yet";
  down.then(event::EngineStopped{1});
  EXPECT_EQ(phase_of(down.state), Phase::stopped);
  Play up = stuck;
  up.then(event::Activate{target_of("b", "op")});
  EXPECT_TRUE(all<effect::Prepare>(up.last).empty());
  up.then(event::EngineStopped{1});
  EXPECT_EQ(all<effect::Prepare>(up.last).at(0).target.profile, "b");
  Play gone = stuck;
  gone.then(event::Exited{1, failure("killed")});
  EXPECT_EQ(all<effect::Discard>(gone.last).size(), 1U);
  EXPECT_EQ(running_engine(gone.state), nullptr);
}

TEST(Step, events_of_an_earlier_attempt_change_nothing) {
  const Play loading{state::Loading{target_of("a", "op"), engine_of("a", 2)}, {}, {}};
  for (const Event& stale : std::vector<Event>{event::HealthOk{1}, event::Exited{1, {}}, event::GaveUp{1, {}},
                                               event::Drained{1}, event::EngineStopped{1}}) {
    EXPECT_FALSE(step(loading.state, stale, {}).ignored.empty());
  }
}

TEST(Step, an_adopted_engine_is_ready_by_its_health_alone) {
  Engine engine = engine_of("a", 1);
  engine.adopted = true;
  Play run{state::Stopped{}, {}, {}};
  run.then(event::Adopted{engine}).then(event::HealthOk{1});
  EXPECT_EQ(phase_of(run.state), Phase::ready);
  EXPECT_TRUE(all<effect::Probe>(run.last).empty()) << "a completion would queue behind busy slots";
}

TEST(Step, F16_an_engine_that_crashes_is_started_again_after_longer_and_longer_waits_then_given_up) {
  Play run = ready_with("a");
  std::vector<long> waits;
  std::uint64_t attempt = 1;
  while (phase_of(run.state) != Phase::failed) {
    run.then(event::Exited{attempt, failure("crash", true)});
    if (phase_of(run.state) == Phase::failed) break;
    ASSERT_EQ(phase_of(run.state), Phase::backoff);
    EXPECT_EQ(target_profile(run.state), "a");
    const effect::Retry retry = all<effect::Retry>(run.last).at(0);
    waits.push_back(retry.delay.count());
    run.then(event::RetryDue{retry.due + seconds(1)});
    EXPECT_FALSE(run.last.ignored.empty()) << "another wait's end";
    run.then(event::RetryDue{retry.due}).then(event::Prepared{OperationId(), launch_of("a", ++attempt)});
    run.then(event::VramFree{attempt}).then(event::Started{engine_of("a", attempt)});
    run.then(event::HealthOk{attempt}).then(event::ProbeOk{attempt, {}});
    ASSERT_EQ(phase_of(run.state), Phase::ready);
    EXPECT_EQ(strikes_of(run.state).restarts, static_cast<int>(attempt) - 1);
  }
  EXPECT_EQ(waits, (std::vector<long>{10, 20, 40, 80}));
  EXPECT_EQ(attempt, 5U);
}

TEST(Step, F16_a_load_that_fails_twice_in_a_row_is_given_up_and_its_operation_ends_once) {
  Play run{state::Stopped{}, {}, {}};
  run.then(event::Activate{target_of("a", "op")}).then(event::Prepared{OperationId("op"), launch_of("a", 1)});
  run.then(event::VramFree{1}).then(event::Started{engine_of("a", 1)}).then(event::Exited{1, failure("killed", true)});
  ASSERT_EQ(phase_of(run.state), Phase::backoff);
  EXPECT_TRUE(all<effect::OperationEnd>(run.last).empty()) << "it goes on";
  const WallTime due = all<effect::Retry>(run.last).at(0).due;
  run.then(event::RetryDue{due}).then(event::Prepared{OperationId("op"), launch_of("a", 2)});
  run.then(event::VramFree{2}).then(event::Started{engine_of("a", 2)}).then(event::Exited{2, failure("killed", true)});
  EXPECT_EQ(phase_of(run.state), Phase::failed);
  EXPECT_EQ(all<effect::OperationEnd>(run.last).at(0).state, OperationState::failed);
}

TEST(Step, what_no_retry_cures_fails_at_once) {
  Play run = ready_with("a");
  run.then(event::Exited{1, failure("model_corrupt", false)});
  EXPECT_EQ(phase_of(run.state), Phase::failed);
}

TEST(Step, while_it_waits_for_the_next_try_people_can_start_it_now_or_have_it_stay_down) {
  const auto waiting = [] {
    Play run = ready_with("a");
    run.then(event::Exited{1, failure("crash", true)});
    return run;
  };
  Play up = waiting();
  up.then(event::Activate{target_of("a", "op")});
  EXPECT_EQ(phase_of(up.state), Phase::preparing);
  EXPECT_EQ(all<effect::CancelPrepare>(up.last).size(), 1U) << "the wait ends";
  EXPECT_EQ(strikes_of(up.state).serving, 0) << "and what failed before is forgotten";
  Play down = waiting();
  down.then(event::Deactivate{OperationId("op"), false});
  EXPECT_EQ(phase_of(down.state), Phase::stopped);
  EXPECT_EQ(all<effect::CancelPrepare>(down.last).size(), 1U);
}

TEST(Step, F36_memory_that_is_not_released_fails_the_start_and_the_old_profile_returns) {
  Play run = ready_with("a");
  run.then(event::Activate{target_of("b", "op")}).then(event::Prepared{OperationId("op"), launch_of("b", 2)});
  run.then(event::Drained{1}).then(event::EngineStopped{1});
  run.then(event::VramHeld{2, failure("vram_not_released", true)});
  EXPECT_EQ(target_profile(run.state), "a");
  EXPECT_EQ(all<effect::OperationEnd>(run.last).at(0).rolled_back_to, "a");
  EXPECT_TRUE(all<effect::Start>(run.last).empty());
}

TEST(Step, an_idle_engine_gives_the_gpus_back_unless_it_is_asked_for_again_while_it_drains) {
  Play run = ready_with("a");
  run.then(event::Idle{2});
  EXPECT_FALSE(run.last.ignored.empty());
  run.then(event::Idle{1});
  EXPECT_EQ(phase_of(run.state), Phase::draining);
  EXPECT_EQ(target_profile(run.state), "");
  Play again = run;
  again.then(event::Activate{target_of("a", "op")});
  EXPECT_EQ(phase_of(again.state), Phase::ready);
  run.then(event::Drained{1}).then(event::EngineStopped{1});
  EXPECT_EQ(phase_of(run.state), Phase::stopped);
}

TEST(Step, another_operation_holds_the_gpus_until_it_gives_them_back) {
  Play run = ready_with("a");
  run.then(event::Hold{OperationId("gate")});
  EXPECT_FALSE(run.last.ignored.empty()) << "an engine has them";
  run.state = state::Stopped{};
  run.then(event::Hold{OperationId("gate")}).then(event::Activate{target_of("a", "op")});
  EXPECT_EQ(all<effect::Preempt>(run.last).at(0).holder.value, "gate");
  EXPECT_TRUE(all<effect::Prepare>(run.last).empty());
  run.then(event::Release{OperationId("another")});
  EXPECT_FALSE(run.last.ignored.empty());
  run.then(event::Release{OperationId("gate")});
  EXPECT_EQ(all<effect::Prepare>(run.last).at(0).target.profile, "a");
}

TEST(Step, what_had_failed_is_failed_again_after_the_gpus_were_held) {
  Play run{state::Failed{"a", failure("crash")}, {}, {}};
  run.then(event::Hold{OperationId("gate")}).then(event::Release{OperationId("gate")});
  ASSERT_EQ(phase_of(run.state), Phase::failed);
  EXPECT_EQ(target_profile(run.state), "a");
  run.then(event::Hold{OperationId("gate")}).then(event::Deactivate{OperationId("down"), false});
  run.then(event::Release{OperationId("gate")});
  EXPECT_EQ(phase_of(run.state), Phase::stopped);
}

TEST(Step, an_engine_that_someone_starts_while_the_gpus_are_held_is_adopted_and_the_holder_gives_way) {
  Play run{state::Held{OperationId("gate"), {}, std::nullopt}, {}, {}};
  run.then(event::Adopted{engine_of("a", 1)});
  EXPECT_EQ(phase_of(run.state), Phase::loading);
  EXPECT_EQ(all<effect::Preempt>(run.last).size(), 1U);
  Play asked{state::Held{OperationId("gate"), target_of("b", "op"), std::nullopt}, {}, {}};
  asked.then(event::Adopted{engine_of("a", 1)});
  EXPECT_EQ(phase_of(asked.state), Phase::stopping);
  EXPECT_EQ(target_profile(asked.state), "b");
}

TEST(Step, an_engine_that_cannot_be_reached_any_more_is_stopped_and_started_again) {
  Play run = ready_with("a");
  run.then(event::GaveUp{1, failure("engine_unreachable", true)});
  EXPECT_EQ(all<effect::Stop>(run.last).size(), 1U);
  run.then(event::EngineStopped{1});
  EXPECT_EQ(phase_of(run.state), Phase::backoff);
  EXPECT_EQ(strikes_of(run.state).serving, 1);
}

TEST(Step, after_ten_good_minutes_earlier_crashes_do_not_count) {
  Play run = ready_with("a");
  run.state = state::Ready{engine_of("a", 1), {0, 4, 0, 4}};
  Play soon = run;
  soon.then(event::Exited{1, failure("crash", true)});
  EXPECT_EQ(phase_of(soon.state), Phase::failed);
  run.facts.served_for = seconds(600);
  run.then(event::Exited{1, failure("crash", true)});
  ASSERT_EQ(phase_of(run.state), Phase::backoff);
  EXPECT_EQ(all<effect::Retry>(run.last).at(0).delay, seconds(10));
}

TEST(Step, docker_s_absence_is_waited_for_without_an_end_but_told_at_once_to_whoever_asked) {
  Play asked{state::Preparing{target_of("a", "op"), std::nullopt}, {}, {}};
  asked.then(event::PrepareFailed{OperationId("op"), failure("docker_unavailable", true)});
  EXPECT_EQ(phase_of(asked.state), Phase::failed);
  Play own{state::Preparing{target_of("a", ""), std::nullopt}, {}, {}};
  for (int i = 0; i < 50; ++i) {
    own.then(event::PrepareFailed{OperationId(), failure("docker_unavailable", true)});
    ASSERT_EQ(phase_of(own.state), Phase::backoff);
    const effect::Retry retry = all<effect::Retry>(own.last).at(0);
    EXPECT_LE(retry.delay, seconds(30));
    own.then(event::RetryDue{retry.due});
  }
}

/// Every operation that was asked for, and how often it was ended.
class Ledger {
 public:
  void read(const Step& step) {
    for (const auto& end : all<effect::OperationEnd>(step)) ++ends_[end.operation.value];
  }
  [[nodiscard]] int ends(const std::string& id) const {
    const auto found = ends_.find(id);
    return found == ends_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, int> ends_;
};

/// Plays the effects' part: what is asked for may succeed, fail, or be late, in any order.
class World {
 public:
  explicit World(unsigned seed) : random_(seed) {}

  void take(const Step& step) {
    for (const Effect& effect : step.effects) std::visit(*this, effect);
  }
  void operator()(const effect::Prepare& e) {
    const std::uint64_t attempt = ++attempts_;
    if (chance(4)) {
      pending_.push_back(event::PrepareFailed{e.target.operation, failure("model_missing")});
    } else {
      pending_.push_back(event::Prepared{e.target.operation, launch_of(e.target.profile, attempt)});
    }
  }
  void operator()(const effect::Drain& e) { pending_.push_back(event::Drained{e.engine.launch.attempt}); }
  void operator()(const effect::Stop& e) {
    if (chance(6)) {
      pending_.push_back(event::StopFailed{e.engine.launch.attempt, failure("docker_unresponsive")});
    } else {
      pending_.push_back(event::EngineStopped{e.engine.launch.attempt});
    }
  }
  void operator()(const effect::Start& e) {
    if (chance(4)) {
      pending_.push_back(event::StartFailed{e.launch.attempt, failure("image_error")});
      return;
    }
    running_.insert(e.launch.attempt);
    most_ = std::max(most_, running_.size());
    pending_.push_back(event::Started{engine_of(e.launch.profile, e.launch.attempt)});
  }
  void operator()(const effect::Watch& e) {
    if (chance(4)) {
      pending_.push_back(event::Exited{e.engine.launch.attempt, failure("crash", chance(2))});
    } else {
      pending_.push_back(event::HealthOk{e.engine.launch.attempt});
    }
  }
  void operator()(const effect::Probe& e) { pending_.push_back(event::ProbeOk{e.engine.launch.attempt, {}}); }
  void operator()(const effect::Discard& e) { running_.erase(e.engine.launch.attempt); }
  void operator()(const effect::Clear& e) {
    if (chance(8)) {
      pending_.push_back(event::VramHeld{e.launch.attempt, failure("vram_not_released", true)});
    } else {
      pending_.push_back(event::VramFree{e.launch.attempt});
    }
  }
  void operator()(const effect::Retry& e) { pending_.push_back(event::RetryDue{e.due}); }
  void operator()(const effect::Preempt& e) { pending_.push_back(event::Release{e.holder}); }
  void operator()(const effect::Guard& e) {
    if (chance(6)) pending_.push_back(event::GaveUp{e.engine.launch.attempt, failure("engine_unreachable", true)});
    if (chance(6)) pending_.push_back(event::Exited{e.engine.launch.attempt, failure("crash", true)});
    if (chance(6)) pending_.push_back(event::Idle{e.engine.launch.attempt});
  }
  void operator()(const effect::CancelPrepare&) {}
  void operator()(const effect::CancelDrain&) {}
  void operator()(const effect::Persist&) {}
  void operator()(const effect::OperationStep&) {}
  void operator()(const effect::OperationEnd&) {}

  [[nodiscard]] bool idle() const { return pending_.empty(); }
  void later(Event event) { pending_.push_back(std::move(event)); }
  Event next() {
    const std::size_t at = random_() % pending_.size();
    const Event event = pending_[at];
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(at));
    if (const auto* stopped = std::get_if<event::EngineStopped>(&event)) running_.erase(stopped->attempt);
    if (const auto* exited = std::get_if<event::Exited>(&event)) running_.erase(exited->attempt);
    return event;
  }
  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] std::size_t running() const { return running_.size(); }

 private:
  std::mt19937 random_;
  std::vector<Event> pending_;
  std::set<std::uint64_t> running_;
  std::uint64_t attempts_ = 0;
  std::size_t most_ = 0;
};

Event ask(World& world, const std::string& id) {
  const std::string profile(1, static_cast<char>('a' + world.pick(3)));
  if (world.chance(4)) return event::Deactivate{OperationId(id), world.chance(2)};
  return event::Activate{target_of(profile, id)};
}

TEST(Step, property_never_two_engines_and_every_operation_ends_once) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    World world(seed);
    Ledger ledger;
    InstanceState state = state::Stopped{};
    int asked = 0;
    const auto feed = [&state, &world, &ledger](const Event& event) {
      const Step next = step(state, event, {});
      state = next.state;
      ledger.read(next);
      world.take(next);
    };
    for (int i = 0; i < 30 || !world.idle(); ++i) {
      if (i < 30 && world.chance(3)) {
        feed(ask(world, std::to_string(asked++)));
      } else if (i < 30 && asked > 0 && world.chance(8)) {
        feed(event::Cancel{OperationId(std::to_string(world.pick(static_cast<unsigned>(asked))))});
      } else if (i < 30 && world.chance(10)) {
        feed(event::Hold{OperationId("holder")});
        if (std::holds_alternative<state::Held>(state)) world.later(event::Release{OperationId("holder")});
      } else if (!world.idle()) {
        feed(world.next());
      }
      // Nothing else may run while another operation has the GPUs.
      if (std::holds_alternative<state::Held>(state)) EXPECT_EQ(world.running(), 0U) << "seed " << seed;
      ASSERT_LT(i, 3000) << "seed " << seed << " does not settle";
    }
    EXPECT_LE(world.most(), 1U) << "seed " << seed;
    for (int id = 0; id < asked; ++id) EXPECT_EQ(ledger.ends(std::to_string(id)), 1) << "seed " << seed << " op " << id;
    EXPECT_TRUE(operation_of(state).empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace k3d::lifecycle
