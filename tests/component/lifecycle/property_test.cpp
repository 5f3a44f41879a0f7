// Random orders of what people, requests, Docker and engines do: never two engines, every waiter answered exactly once,
// every operation ends, and the last wish is what comes true.
#include <gtest/gtest.h>

#include <random>

#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;

class Property : public Rig {
 protected:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  std::string any_profile() { return pick(2) == 0 ? "a" : "b"; }

  void wait_for_a_profile() {
    ++asked_;
    const Wanted wanted{any_profile(), pick(2) == 0, "request"};
    const SteadyTime until = steady_clock::now() + milliseconds(pick(40));
    asio::co_spawn(loop_, supervisor_->ensure_ready(wanted, until), [this](const std::exception_ptr& thrown, Status) {
      EXPECT_FALSE(thrown);
      ++answered_;
    });
  }

  void end_an_engine() {
    const std::vector<std::string> names = containers_.names();
    if (names.empty()) return;
    const std::string& name = names[pick(static_cast<unsigned>(names.size()))];
    if (containers_.find(name)->info.running()) containers_.end(name, pick(2) == 0 ? 137 : 1);
  }

  void cancel_something() {
    const auto all = now()->operations;
    if (all.empty()) return;
    const OperationId id = all[pick(static_cast<unsigned>(all.size()))].id;
    const auto cancelled = cancel(id);  // may have ended
    EXPECT_TRUE(cancelled || cancelled.error().code == Code::conflict);
  }

  void toggle_docker() {
    if (containers_.down) {
      containers_.down.reset();
    } else {
      containers_.down = Error{Code::docker_unavailable, "gone", "", ""};
    }
    containers_.wake();
  }

  void ask_down() {
    // Refused while Docker keeps what runs from being known.
    const auto asked = on_loop([this] { return supervisor_->deactivate({pick(2) == 0, "", "test"}); });
    EXPECT_TRUE(asked || asked.error().code == Code::docker_unavailable ||
                asked.error().code == Code::docker_unresponsive)
        << asked.error().text();
  }

  void act() {
    switch (pick(10)) {
      case 0: case 1: case 2: activate(any_profile(), pick(4) == 0); break;
      case 3: ask_down(); break;
      case 4: cancel_something(); break;
      case 5: case 6: wait_for_a_profile(); break;
      case 7: end_an_engine(); break;
      case 8: if (pick(4) == 0) toggle_docker(); break;
      default: pass(milliseconds(pick(15))); break;
    }
    EXPECT_LE(containers_.running(), 1U);
  }

  void settle() {
    containers_.down.reset();
    containers_.wake();
    // Requests may switch as well: the last wish comes after them.
    EXPECT_TRUE(until([this] { return answered_ == asked_; })) << answered_ << " of " << asked_;
    const OperationId last = activate("a", false);
    EXPECT_TRUE(until([this] { return now()->phase == Phase::ready && now()->active_profile == "a"; }));
    EXPECT_TRUE(until_ended(last));
    EXPECT_TRUE(until([this] { return containers_.running() == 1; }));
    for (const Operation& each : now()->operations) {
      EXPECT_TRUE(each.ended()) << to_string(each.kind) << " " << each.profile << " is at " << each.progress.step;
    }
  }

  std::mt19937 random_;
  int asked_ = 0;
  int answered_ = 0;
};

TEST_F(Property, F58_whatever_happens_in_whatever_order) {
  log::set_level(log::Level::error);
  for (Profile& each : settings_->profiles) each.drain = seconds(1);
  boot();
  for (unsigned seed = 0; seed < 60; ++seed) {
    random_.seed(seed);
    for (int i = 0; i < 25; ++i) act();
    settle();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST_F(Property, F1_F7_k3d_ends_and_starts_again_at_any_moment) {
  log::set_level(log::Level::error);
  for (Profile& each : settings_->profiles) each.drain = seconds(1);
  store_.put("boot_id", host_.host.boot_id);
  for (unsigned seed = 0; seed < 40; ++seed) {
    random_.seed(seed);
    boot();
    const OperationId id = activate(any_profile());
    pass(milliseconds(pick(40)));
    finish(false);
    EXPECT_LE(containers_.running(), 1U);
    boot();
    EXPECT_TRUE(until_ended(id)) << "it goes on under its id";
    EXPECT_EQ(operation(id).state, OperationState::succeeded) << "seed " << seed;
    EXPECT_EQ(containers_.running(), 1U);
    finish(false);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace k3d::lifecycle
