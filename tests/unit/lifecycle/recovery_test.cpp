#include "daemon/lifecycle/recovery.hpp"

#include <gtest/gtest.h>

namespace k3d::lifecycle {
namespace {

const WallTime kNoon{seconds(43200)};

Operation operation(const std::string& id, OperationKind kind, const std::string& profile) {
  Operation out;
  out.id = OperationId(id);
  out.kind = kind;
  out.profile = profile;
  out.state = OperationState::running;
  out.created_at = kNoon;
  return out;
}

Engine engine_of(const std::string& profile, WallTime started_at) {
  Engine engine;
  engine.launch.profile = profile;
  engine.launch.attempt = 3;
  engine.started_at = started_at;
  return engine;
}

Memory memory_of(const std::string& desired) {
  Memory memory;
  memory.desired = desired;
  memory.boot_id = "boot";
  return memory;
}

FailureRecord record(const std::string& profile, bool final) {
  Failure failure;
  failure.code = "cuda_out_of_memory";
  failure.profile = profile;
  failure.retryable = true;
  return {failure, final};
}

TEST(Recovery, F4_what_runs_is_adopted_whatever_is_remembered) {
  for (const char* desired : {"", "a", "b"}) {
    const Recovery out = recover(memory_of(desired), {engine_of("a", kNoon), {}}, {}, "boot");
    ASSERT_TRUE(out.adopt);
    EXPECT_EQ(out.adopt->engine.launch.profile, "a");
    EXPECT_FALSE(out.resume);
    EXPECT_FALSE(out.forget);
  }
  const Recovery lost = recover({}, {engine_of("a", kNoon), {}}, {}, "boot");
  EXPECT_TRUE(lost.adopt) << "a lost database loses history, not the running model";
}

TEST(Recovery, F7_an_activation_goes_on_under_its_id_and_knows_what_to_return_to) {
  Memory memory = memory_of("b");
  memory.fall_back_to = "a";
  memory.open = {operation("2", OperationKind::activate, "b"), operation("1", OperationKind::activate, "c")};
  const Recovery out = recover(memory, {}, {}, "boot");
  const auto* activate = std::get_if<event::Activate>(&out.resume.value());
  ASSERT_NE(activate, nullptr);
  EXPECT_EQ(activate->target.operation.value, "2");
  EXPECT_EQ(activate->target.fall_back_to, "a");
  ASSERT_EQ(out.interrupted.size(), 1U);
  EXPECT_EQ(out.interrupted[0].first.value, "1");
}

TEST(Recovery, F4_a_load_that_still_runs_is_the_activations_own_an_older_engine_is_replaced) {
  Memory memory = memory_of("a");
  memory.open = {operation("1", OperationKind::activate, "a")};
  for (const bool started : {true, false}) {
    memory.open[0].steps = {OperationStep{"prepare", {}, {}, {}}};
    if (started) memory.open[0].steps.push_back(OperationStep{"start", {}, {}, {}});
    const Recovery out = recover(memory, {engine_of("a", kNoon), {}}, {}, "boot");
    ASSERT_TRUE(out.adopt && out.resume);
    EXPECT_EQ(std::get<event::Activate>(*out.resume).target.restart, !started) << "whatever the clock says";
  }
}

TEST(Recovery, F7_a_profile_that_was_on_its_way_back_is_started) {
  Memory memory = memory_of("a");
  memory.rolled_back_from = "b";
  memory.failure = record("b", false);
  const Recovery out = recover(memory, {}, {}, "boot");
  const auto* activate = std::get_if<event::Activate>(&out.resume.value());
  ASSERT_NE(activate, nullptr) << "its container is gone because k3d removed it";
  EXPECT_EQ(activate->target.profile, "a");
  EXPECT_TRUE(activate->target.operation.empty());
  EXPECT_EQ(activate->target.rolled_back_from, "b");
  EXPECT_EQ(out.failure.value().profile, "b") << "why it was on its way back is still shown";
  memory.failure = record("a", true);
  EXPECT_TRUE(std::get<event::Missing>(recover(memory, {}, {}, "boot").resume.value()).final) << "it was given up since";
}

TEST(Recovery, F6_an_engine_that_was_being_stopped_is_stopped_at_once) {
  Memory memory = memory_of("");
  memory.stopping = "3";
  const Recovery idle = recover(memory, {engine_of("a", kNoon), {}}, {}, "boot");
  ASSERT_TRUE(idle.adopt && idle.resume && idle.at_once);
  EXPECT_TRUE(std::holds_alternative<event::Deactivate>(*idle.resume));
  memory.desired = "a";
  const Recovery given_up = recover(memory, {engine_of("a", kNoon), {}}, {}, "boot");
  EXPECT_TRUE(std::get<event::Activate>(given_up.resume.value()).target.restart);
  memory.open = {operation("1", OperationKind::activate, "b")};
  const Recovery replaced = recover(memory, {engine_of("a", kNoon), {}}, {}, "boot");
  EXPECT_TRUE(replaced.at_once);
  EXPECT_EQ(std::get<event::Activate>(replaced.resume.value()).target.operation.value, "1");
  memory.stopping = "2";
  EXPECT_FALSE(recover(memory, {engine_of("a", kNoon), {}}, {}, "boot").at_once) << "an earlier engine's end";
}

TEST(Recovery, only_what_was_prepared_before_is_not_judged_again) {
  Memory memory = memory_of("");
  memory.open = {operation("1", OperationKind::activate, "b")};
  memory.open[0].steps = {OperationStep{"prepare", {}, {}, {}}};
  const auto accepts = [&memory] {
    return std::get<event::Activate>(recover(memory, {}, {}, "boot").resume.value()).target.accept_risk;
  };
  EXPECT_FALSE(accepts());
  memory.open[0].steps.push_back(OperationStep{"drain", {}, {}, {}});
  EXPECT_TRUE(accepts());
}

TEST(Recovery, F6_a_deactivation_goes_on) {
  Memory memory = memory_of("");
  memory.open = {operation("1", OperationKind::deactivate, "a")};
  const Recovery out = recover(memory, {engine_of("a", kNoon), {}}, {}, "boot");
  EXPECT_TRUE(out.adopt);
  EXPECT_EQ(std::get<event::Deactivate>(out.resume.value()).operation.value, "1");
}

TEST(Recovery, an_engine_that_ended_meanwhile_is_judged_by_its_container) {
  Found found;
  found.ended = Found::Ended{"a", record("a", false).failure};
  const Recovery out = recover(memory_of("a"), found, {}, "boot");
  const auto& missing = std::get<event::Missing>(out.resume.value());
  EXPECT_EQ(missing.failure.code, "cuda_out_of_memory");
  EXPECT_TRUE(missing.served);
  EXPECT_FALSE(missing.final);
}

TEST(Recovery, what_had_failed_stays_failed_and_what_waited_for_another_try_waits_again) {
  for (const bool final : {true, false}) {
    Memory memory = memory_of("a");
    memory.failure = record("a", final);
    const Recovery out = recover(memory, {}, {}, "boot");
    EXPECT_EQ(std::get<event::Missing>(out.resume.value()).final, final);
    EXPECT_TRUE(out.failure);
  }
}

TEST(Recovery, F30_a_container_that_is_gone_is_no_reason_to_load_again) {
  const Recovery out = recover(memory_of("a"), {}, {}, "boot");
  const auto& missing = std::get<event::Missing>(out.resume.value());
  EXPECT_EQ(missing.failure.code, "removed_externally");
  EXPECT_TRUE(missing.final);
}

TEST(Recovery, what_k3d_stopped_when_it_ended_stays_down_until_a_boot) {
  Memory memory = memory_of("a");
  memory.stopped_on_exit = true;
  const Recovery out = recover(memory, {}, {Boot::Choice::last, ""}, "boot");
  EXPECT_FALSE(out.resume);
  EXPECT_TRUE(out.forget);
  EXPECT_EQ(recover(memory, {}, {Boot::Choice::last, ""}, "next boot").boot, "a");
}

TEST(Recovery, after_a_boot_the_setting_decides) {
  Memory memory = memory_of("a");
  memory.boot_id = "before";
  const Recovery none = recover(memory, {}, {Boot::Choice::none, ""}, "boot");
  EXPECT_EQ(none.boot, "");
  EXPECT_TRUE(none.forget);
  EXPECT_EQ(none.failure.value().code, "host_rebooted");
  EXPECT_EQ(recover(memory, {}, {Boot::Choice::last, ""}, "boot").boot, "a");
  EXPECT_TRUE(recover(memory, {}, {Boot::Choice::last, ""}, "boot").boot_ran) << "its plan was judged then";
  EXPECT_EQ(recover(memory, {}, {Boot::Choice::profile, "b"}, "boot").boot, "b");
  EXPECT_FALSE(recover(memory, {}, {Boot::Choice::profile, "b"}, "boot").boot_ran);
  EXPECT_EQ(recover(memory_of("a"), {}, {Boot::Choice::profile, "b"}, "boot").boot, "") << "the same boot";
  const Recovery first = recover({}, {}, {Boot::Choice::last, ""}, "boot");
  EXPECT_EQ(first.boot, "");
  EXPECT_FALSE(first.failure) << "k3d has never run here";
  memory.open = {operation("1", OperationKind::activate, "c")};
  Memory hasty = memory;
  hasty.boot_id.clear();
  EXPECT_TRUE(recover(hasty, {}, {}, "boot").resume) << "killed before the boot was written down";
  const Recovery open = recover(memory, {}, {Boot::Choice::last, ""}, "boot");
  EXPECT_EQ(open.boot, "c") << "what was asked for last";
  EXPECT_EQ(open.interrupted.size(), 1U);
  EXPECT_FALSE(open.resume);
}

TEST(FailureRecord, comes_back_as_it_was_kept_and_nonsense_is_none) {
  FailureRecord kept = record("a", true);
  kept.failure.exit_code = 139;
  kept.failure.log_excerpt = {"line \xff", "second"};
  kept.failure.remedy = Remedy{"less", {{"ubatch", "512"}}};
  const auto back = failure_record(to_text(kept));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->final);
  EXPECT_EQ(back->failure.code, "cuda_out_of_memory");
  EXPECT_EQ(back->failure.exit_code, 139);
  EXPECT_EQ(back->failure.log_excerpt.size(), 2U);
  EXPECT_EQ(back->failure.remedy->set.at("ubatch"), "512");
  for (const char* text : {"", "{}", "[]", "{\"code\": 3}", "null", "{\"code\":\"crash\",\"remedy\":{\"set\":[1]}}"}) {
    EXPECT_FALSE(failure_record(text)) << text;
  }
}

}  // namespace
}  // namespace k3d::lifecycle
