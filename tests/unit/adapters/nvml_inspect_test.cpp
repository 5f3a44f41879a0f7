// What the doctor asks of the driver: more than a reading, and of the cards that are well also where one is lost.
#include <gmock/gmock.h>

#include "daemon/base/async/task_group.hpp"
#include "tests/unit/adapters/nvml_rig.hpp"
#include "tests/unit/docker_driver/loop.hpp"

namespace k3d::adapters {
namespace {

using test::NvmlTest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Report = Result<GpuReport>;

std::string card(int index) {
  const std::string n = std::to_string(index);
  return "card 00000000:0" + n + ":00.0 GPU-" + n + " 102641958912 0 0 NVIDIA RTX PRO 6000 Blackwell\n";
}

std::string eight_cards() {
  std::string lines = "driver 575.57.08\n";
  for (int i = 0; i < 8; ++i) lines += card(i);
  for (int i = 0; i < 8; ++i) {
    const std::string fact = "fact " + std::to_string(i) + " ";
    lines += fact + "compute 12.0\n" + fact + "mig 0\n" + fact + "ecc 1\n" + fact + "uncorrected 0\n";
  }
  return lines;
}

class NvmlInspect : public NvmlTest {
 protected:
  Report inspect(GpuInspector& probe) { return k3d::test::run(loop_, probe.inspect()); }
};

TEST_F(NvmlInspect, eight_cards_with_all_that_there_is_to_know) {
  play(eight_cards() + "fact 7 uncorrected 3\n");
  const auto probe = nvml(loop_.get_executor(), options());
  const Report report = inspect(*probe);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->driver_version, "575.57.08");
  EXPECT_TRUE(report->xids_heard);
  ASSERT_EQ(report->gpus.size(), 8u);
  const GpuFacts& last = report->gpus.back();
  EXPECT_EQ(last.state.uuid, "GPU-7");
  EXPECT_EQ(last.compute_capability, "12.0");
  EXPECT_EQ(last.mig, false);
  EXPECT_EQ(last.ecc, true);
  EXPECT_EQ(last.uncorrected_errors, 3u);
  EXPECT_EQ(last.free_bytes, 102641958912u - (600u << 20)) << "without what the driver keeps";
  EXPECT_EQ(last.trouble, "");
}

TEST_F(NvmlInspect, a_lost_card_hides_no_other) {
  play(eight_cards() + "lost 3\n");
  const auto probe = nvml(loop_.get_executor(), options());
  const Report report = inspect(*probe);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->gpus.size(), 8u);
  EXPECT_EQ(report->gpus[3].trouble, "GPU is lost");
  EXPECT_EQ(report->gpus[3].state.index, 3);
  EXPECT_EQ(report->gpus[3].ecc, std::nullopt);
  EXPECT_EQ(report->gpus[4].trouble, "");
  EXPECT_EQ(report->gpus[4].state.uuid, "GPU-4");
  EXPECT_FALSE(read(*probe)) << "a reading still says that they can't all be read";
}

TEST_F(NvmlInspect, what_a_driver_does_not_tell_stays_unknown) {
  play(card(0));
  const auto probe = nvml(loop_.get_executor(), options());
  const Report report = inspect(*probe);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->driver_version, "");
  EXPECT_EQ(report->gpus.at(0).compute_capability, "");
  EXPECT_EQ(report->gpus.at(0).mig, std::nullopt);
  EXPECT_EQ(report->gpus.at(0).ecc, std::nullopt);
  EXPECT_EQ(report->gpus.at(0).uncorrected_errors, std::nullopt);
}

TEST_F(NvmlInspect, xids_are_heard_from_the_first_reading_on_and_kept) {
  play(eight_cards());
  const auto probe = nvml(loop_.get_executor(), options());
  ASSERT_TRUE(read(*probe));
  play(eight_cards() + "xid 2 79\nxid 2 31\nxid 5 94\n");
  for (int i = 0; i < 2; ++i) {
    const Report report = inspect(*probe);
    ASSERT_TRUE(report);
    EXPECT_THAT(report->gpus[2].xids, ElementsAre(31, 79));
    EXPECT_THAT(report->gpus[5].xids, ElementsAre(94));
    EXPECT_THAT(report->gpus[0].xids, IsEmpty());
  }
}

TEST_F(NvmlInspect, a_driver_without_events_is_told_apart_from_one_without_xids) {
  play(eight_cards() + "fail nvmlDeviceRegisterEvents 3\n");
  const auto probe = nvml(loop_.get_executor(), options());
  const Report report = inspect(*probe);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->xids_heard);
}

TEST_F(NvmlInspect, a_call_that_hangs_ends_in_time) {
  play(eight_cards() + "hang nvmlDeviceGetEccMode\n");
  NvmlOptions impatient = options();
  impatient.answer = milliseconds(300);
  impatient.first_answer = milliseconds(1);
  const auto probe = nvml(loop_.get_executor(), impatient);
  const Report report = inspect(*probe);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::timed_out);
  EXPECT_THAT(report.error().hint, HasSubstr("dmesg"));
  EXPECT_TRUE(test::children_of(::getpid()).empty());
}

TEST_F(NvmlInspect, without_a_driver_the_reason_is_told) {
  play("fail nvmlInit_v2 9\n");
  const auto probe = nvml(loop_.get_executor(), options());
  for (int i = 0; i < 2; ++i) {
    const Report report = inspect(*probe);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->no_driver, "Driver Not Loaded");
  }
}

TEST_F(NvmlInspect, it_and_a_reading_at_once_each_get_their_own) {
  play(eight_cards() + "slow nvmlDeviceGetCount 100\n");
  const auto probe = nvml(loop_.get_executor(), options());
  Gpus first, last;
  Report report;
  auto read_first = [&]() -> Task<void> { first = co_await probe->read(); };
  auto look = [&]() -> Task<void> { report = co_await probe->inspect(); };
  auto read_last = [&]() -> Task<void> { last = co_await probe->read(); };
  TaskGroup group(loop_.get_executor());
  group.spawn(read_first());
  group.spawn(look());
  group.spawn(read_last());
  loop_.restart();
  loop_.run();
  EXPECT_TRUE(first && first->size() == 8);
  EXPECT_TRUE(last && last->size() == 8);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->gpus.at(0).ecc, true);
}

}  // namespace
}  // namespace k3d::adapters
