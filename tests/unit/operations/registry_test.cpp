#include "daemon/operations/registry.hpp"

#include <gtest/gtest.h>

namespace k3d::operations {
namespace {

const WallTime kNow = parse_time("2026-11-30T00:00:00Z").value();

TEST(Registry, steps_follow_each_other_and_every_change_is_saved) {
  std::vector<Operation> saved;
  Registry registry([&saved](const Operation& operation) { saved.push_back(operation); });
  const OperationId id = registry.create(OperationKind::activate, "batch", "why", "uid 0", kNow).id;
  registry.step(id, "prepare", kNow);
  registry.step(id, "start", kNow + seconds(2));
  registry.end(id, OperationState::succeeded, std::nullopt, {}, kNow + seconds(5));
  const Operation& operation = *registry.find(id);
  ASSERT_EQ(operation.steps.size(), 2U);
  EXPECT_EQ(operation.steps[0].finished_at, kNow + seconds(2));
  EXPECT_EQ(operation.steps[0].state, OperationState::succeeded);
  EXPECT_EQ(operation.steps[1].finished_at, kNow + seconds(5));
  EXPECT_EQ(saved.size(), 4U);
  EXPECT_EQ(saved.back().state, OperationState::succeeded);
}

TEST(Registry, F1_what_is_wanted_of_the_engine_goes_on_when_k3d_starts_again) {
  Registry first([](const Operation&) {});
  const OperationId old = first.create(OperationKind::activate, "batch", {}, {}, kNow).id;
  const OperationId newer = first.create(OperationKind::deactivate, "batch", {}, {}, kNow).id;
  std::vector<Operation> saved;
  Registry second([&saved](const Operation& operation) { saved.push_back(operation); });
  const std::vector<Operation> open = second.restore(first.list(), kNow + seconds(9));
  ASSERT_EQ(open.size(), 2U);
  EXPECT_EQ(open[0].id, newer);
  EXPECT_TRUE(saved.empty());
  EXPECT_FALSE(second.find(old)->ended());
  EXPECT_TRUE(second.restore(first.list(), kNow).empty()) << "known by now";
  EXPECT_EQ(second.list().size(), 2U);
}

TEST(Registry, an_ended_operation_does_not_change_and_old_ones_are_forgotten) {
  Registry registry([](const Operation&) {});
  const OperationId id = registry.create(OperationKind::activate, "a", {}, {}, kNow).id;
  registry.end(id, OperationState::cancelled, std::nullopt, {}, kNow);
  registry.end(id, OperationState::succeeded, std::nullopt, {}, kNow);
  EXPECT_EQ(registry.find(id)->state, OperationState::cancelled);
  for (std::size_t i = 0; i < Registry::kKept; ++i) {
    registry.end(registry.create(OperationKind::activate, "b", {}, {}, kNow).id, OperationState::succeeded, {}, {}, kNow);
  }
  EXPECT_EQ(registry.list().size(), Registry::kKept);
  EXPECT_EQ(registry.find(id), nullptr);
}

}  // namespace
}  // namespace k3d::operations
