// The engine's own figures beside the plan's.
#include "daemon/lifecycle/planned_exact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace k3d::lifecycle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Plan plan() {
  Plan made;
  for (int i = 0; i < 2; ++i) {
    PlannedDevice device;
    device.index = i + 4;
    device.model_bytes = 80 * kGiB;
    device.reserve_bytes = 2 * kGiB;
    device.free_bytes = 90 * kGiB;
    made.devices.push_back(device);
  }
  made.host.model_bytes = kGiB;
  return made;
}

engine::Breakdown figures(Bytes second) {
  return {{{80 * kGiB, kGiB, kGiB}, {second, kGiB, kGiB}}, {2 * kGiB, 0, 0}};
}

TEST(ExactPreflight, tells_a_line_for_each_memory) {
  EXPECT_THAT(beside(plan(), figures(81 * kGiB)),
              ElementsAre(HasSubstr("GPU 4: the engine counts " + format_bytes(80 * kGiB) + " of weights"),
                          testing::AllOf(HasSubstr("GPU 5"), HasSubstr(format_bytes(81 * kGiB)),
                                         HasSubstr("planned are " + format_bytes(80 * kGiB))),
                          HasSubstr("host RAM: the engine counts " + format_bytes(2 * kGiB))));
}

TEST(ExactPreflight, refuses_what_its_figures_have_no_room_for) {
  EXPECT_TRUE(check_figures(plan(), figures(86 * kGiB)));
  const Status refused = check_figures(plan(), figures(87 * kGiB));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::does_not_fit);
  EXPECT_THAT(refused.error().message, HasSubstr("GPU 5 would need " + format_bytes(91 * kGiB)));
  EXPECT_THAT(refused.error().breaks, ElementsAre(Shortage{"vram", 5, 91 * kGiB, 90 * kGiB}));
}

TEST(ExactPreflight, without_gpus_there_is_nothing_to_refuse) {
  EXPECT_TRUE(check_figures({}, figures(1)));
}

}  // namespace
}  // namespace k3d::lifecycle
