#include "daemon/lifecycle/step.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace k3d::lifecycle {
namespace {

Launch launch_of(const std::string& profile, std::uint64_t attempt) {
  Launch launch;
  launch.profile = profile;
  launch.attempt = attempt;
  return launch;
}

Engine engine_of(const std::string& profile, std::uint64_t attempt) {
  Engine engine;
  engine.container = ContainerId("c" + std::to_string(attempt));
  engine.launch = launch_of(profile, attempt);
  return engine;
}

Target target_of(const std::string& profile, const std::string& operation) {
  Target target;
  target.profile = profile;
  target.operation = OperationId(operation);
  return target;
}

Failure failure(const std::string& code) {
  Failure f;
  f.code = code;
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

Play ready_with(const std::string& profile) { return {state::Ready{engine_of(profile, 1)}, {}, {}}; }

TEST(Step, from_nothing_to_ready) {
  Play run{state::Stopped{}, {}, {}};
  run.then(event::Activate{target_of("a", "op")});
  EXPECT_EQ(phase_of(run.state), Phase::preparing);
  ASSERT_EQ(all<effect::Prepare>(run.last).size(), 1U);
  run.then(event::Prepared{OperationId("op"), launch_of("a", 1)});
  EXPECT_EQ(phase_of(run.state), Phase::starting);
  EXPECT_EQ(all<effect::Persist>(run.last).at(0).profile, "a") << "the intent is written before the action";
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
  run.then(event::EngineStopped{1});
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
    run.then(event::Drained{1}).then(event::EngineStopped{1}).then(event::Started{engine_of("b", 2)});
    run.then(event::Exited{2, failure("model_truncated")});
    EXPECT_EQ(all<effect::Discard>(run.last).size(), 1U);
    EXPECT_EQ(phase_of(run.state), roll_back ? Phase::preparing : Phase::failed);
    EXPECT_EQ(target_profile(run.state), roll_back ? "a" : "b");
    if (!roll_back) continue;
    // A return that fails too is not returned from.
    run.then(event::Prepared{OperationId(), launch_of("a", 3)}).then(event::StartFailed{3, failure("image_error")});
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
      pending_.push_back(event::Exited{e.engine.launch.attempt, failure("crash")});
    } else {
      pending_.push_back(event::HealthOk{e.engine.launch.attempt});
    }
  }
  void operator()(const effect::Probe& e) { pending_.push_back(event::ProbeOk{e.engine.launch.attempt, {}}); }
  void operator()(const effect::Discard& e) { running_.erase(e.engine.launch.attempt); }
  void operator()(const effect::CancelPrepare&) {}
  void operator()(const effect::Persist&) {}
  void operator()(const effect::OperationStep&) {}
  void operator()(const effect::OperationEnd&) {}

  [[nodiscard]] bool idle() const { return pending_.empty(); }
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
      } else if (!world.idle()) {
        feed(world.next());
      }
      ASSERT_LT(i, 1000) << "seed " << seed << " does not settle";
    }
    EXPECT_LE(world.most(), 1U) << "seed " << seed;
    for (int id = 0; id < asked; ++id) EXPECT_EQ(ledger.ends(std::to_string(id)), 1) << "seed " << seed << " op " << id;
    EXPECT_TRUE(operation_of(state).empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace k3d::lifecycle
