// n_cpu_moe: auto against the engine's own figures (engine-experts.txt): the number of layers is the smallest that they
// allow, and the split that comes with it fits. Compute buffers are the engine's, as its devices are CPUs.
#include <gtest/gtest.h>

#include "daemon/planning/memory_beyond.hpp"
#include "daemon/planning/placement_experts.hpp"
#include "tests/unit/planning/memory_golden.hpp"

namespace k3d::planning::test {
namespace {

std::vector<Bytes> room_of(const Case& which) {
  std::vector<Bytes> room;
  for (const double mib : which.sizes_mib) {
    room.push_back(static_cast<Bytes>(mib) * kMiB - kCudaContext - cuda_scratch(which.asked.ubatch));
  }
  return room;
}

/// By the engine's figures, which are cut to whole MiB.
bool engine_fits(const Case& which) {
  const std::vector<Bytes> room = room_of(which);
  for (std::size_t i = 0; i < room.size(); ++i) {
    const Figures& device = which.devices[i];
    if (device.model + device.context + device.compute > static_cast<double>(room[i] / kMiB)) return false;
  }
  return true;
}

TEST(PlannerExperts, TheNumberOfLayersIsTheSmallestThatTheEnginesFiguresAllow) {
  const std::vector<Case> cases = read_cases("engine-experts.txt");
  ASSERT_GE(cases.size(), 12U);
  for (std::size_t i = 0; i + 1 < cases.size(); i += 2) {
    const Case &fits = cases[i], &overflows = cases[i + 1];
    SCOPED_TRACE(fits.text);
    ASSERT_EQ(overflows.asked.cpu_moe + 1, fits.asked.cpu_moe);
    EXPECT_TRUE(engine_fits(fits));
    EXPECT_FALSE(engine_fits(overflows)) << overflows.text;
    const auto ours = smallest_split(model_of(fits, compute_of(fits)), room_of(fits));
    ASSERT_TRUE(ours.has_value());
    EXPECT_EQ(ours->cpu_layers, fits.asked.cpu_moe);
  }
}

TEST(PlannerExperts, TheSplitOfFewerLayersThanFitIsNone) {
  const Case which = read_cases("engine-experts.txt").front();
  const MemoryModel model = model_of(which, compute_of(which));
  EXPECT_FALSE(best_split(model, which.asked.cpu_moe - 1, room_of(which)).has_value());
  EXPECT_TRUE(best_split(model, which.asked.cpu_moe, room_of(which)).has_value());
}

TEST(PlannerExperts, AGivenSplitGetsTheFewestLayersThatItAllows) {
  const Case which = read_cases("engine-experts.txt").front();
  const MemoryModel model = model_of(which, compute_of(which));
  const auto found = smallest_for(model, which.asked.split, room_of(which));
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(found->cpu_layers, which.asked.cpu_moe);
  const std::vector<Bytes> little(8, 50 * kGiB);  // nearly all non-expert weights on one device are more
  EXPECT_FALSE(smallest_for(model, {1, 1, 1, 1, 1, 1, 1, 100}, little).has_value());
}

TEST(PlannerExperts, NothingFitsInNoRoom) {
  const Case which = read_cases("engine-experts.txt").front();
  const MemoryModel model = model_of(which);
  EXPECT_FALSE(smallest_split(model, std::vector<Bytes>(8, kGiB)).has_value());
}

}  // namespace
}  // namespace k3d::planning::test
