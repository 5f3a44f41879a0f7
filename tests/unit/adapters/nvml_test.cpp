// What the probe tells of a machine, through the real child process and a library that plays the driver.
#include "daemon/adapters/nvml.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/unit/adapters/nvml_rig.hpp"

namespace k3d::adapters {
namespace {

using test::children_of;
using test::NvmlTest;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kCard = "card 00000000:01:00.0 GPU-a 150000000000 0 0 NVIDIA H200\n";
const std::string kOwnPid = std::to_string(::getpid());

TEST_F(NvmlTest, cards_are_told_by_pci_order) {
  play("card 00000000:C1:00.0 GPU-c 150754820096 4000000 7 NVIDIA H200\n"
       "card 00000000:01:00.0 GPU-a 102000000000 90000000000 100 NVIDIA RTX PRO 6000 Blackwell\n"
       "card 00000001:01:00.0 GPU-d 1 0 0 x\n"
       "card 00000000:0A:00.0 GPU-b 2 0 0 y\n");
  const auto probe = nvml(loop_.get_executor(), options());
  const Gpus gpus = read(*probe);
  ASSERT_TRUE(gpus) << gpus.error().text();
  std::string order;
  for (const GpuState& gpu : *gpus) order += std::to_string(gpu.index) + "=" + gpu.uuid + " ";
  EXPECT_EQ(order, "0=GPU-a 1=GPU-b 2=GPU-c 3=GPU-d ");
  EXPECT_EQ(gpus->at(0).name, "NVIDIA RTX PRO 6000 Blackwell");
  EXPECT_EQ(gpus->at(0).memory_total_bytes, 102'000'000'000u);
  EXPECT_EQ(gpus->at(0).memory_used_bytes, 90'000'000'000u) << "without what the driver keeps";
  EXPECT_EQ(gpus->at(0).utilization_percent, 100);
  EXPECT_EQ(gpus->at(2).memory_used_bytes, 4'000'000u);
}

TEST_F(NvmlTest, a_machine_may_have_a_driver_and_no_card) {
  play("");
  const auto probe = nvml(loop_.get_executor(), options());
  ASSERT_TRUE(read(*probe));
  play(kCard);
  EXPECT_EQ(read(*probe)->size(), 1u) << "it is asked again at once";
}

void expect_processes(const std::vector<GpuProcess>& processes) {
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].pid, 1);
  EXPECT_EQ(processes[0].memory_bytes, std::nullopt);
  EXPECT_FALSE(processes[0].name.empty());
  EXPECT_EQ(processes[1].pid, ::getpid());
  EXPECT_EQ(processes[1].name, "adapters_test");
  EXPECT_EQ(processes[1].memory_bytes, 2000u) << "in both lists, with the same memory";
  EXPECT_FALSE(processes[1].ours);
}

TEST_F(NvmlTest, processes_of_both_lists_and_of_each_card) {
  const std::string machine = kCard + "card 00000000:02:00.0 GPU-b 9 0 0 x\n" + "process 0 1 na\n" + "process 0 " + kOwnPid +
                              " 2000\n" + "process 0 " + kOwnPid + " 2000 graphics\n" + "process 1 " + kOwnPid + " 5 graphics\n" +
                              "process 0 4194303 7000\n";
  play(machine);
  const auto probe = nvml(loop_.get_executor(), options());
  Gpus gpus = read(*probe);
  ASSERT_TRUE(gpus) << gpus.error().text();
  expect_processes(gpus->at(0).processes);
  ASSERT_EQ(gpus->at(1).processes.size(), 1u);
  EXPECT_EQ(gpus->at(1).processes[0].memory_bytes, 5u);
  use_library(K3D_FAKE_NVML_DIR "-old");
  const auto old_probe = nvml(loop_.get_executor(), options());
  gpus = read(*old_probe);
  ASSERT_TRUE(gpus) << gpus.error().text();
  expect_processes(gpus->at(0).processes);
  EXPECT_EQ(gpus->at(0).memory_used_bytes, Bytes{600} << 20) << "that of the first call of NVML";
}

TEST_F(NvmlTest, more_processes_than_there_was_room_for) {
  std::string machine = kCard;
  for (int i = 0; i < 1000; ++i) machine += "process 0 " + kOwnPid + " 3\n";
  play(machine);
  const auto probe = nvml(loop_.get_executor(), options());
  const Gpus gpus = read(*probe);
  ASSERT_TRUE(gpus) << gpus.error().text();
  ASSERT_EQ(gpus->at(0).processes.size(), 1u);
  EXPECT_EQ(gpus->at(0).processes[0].memory_bytes, 3000u) << "its parts on a divided GPU are added";
}

TEST_F(NvmlTest, calls_that_this_driver_lacks_have_older_ones) {
  play(kCard + "process 0 " + kOwnPid + " 9\nfail nvmlDeviceGetMemoryInfo_v2 25\nfail nvmlDeviceGetComputeRunningProcesses_v2 13\n"
               "fail nvmlDeviceGetGraphicsRunningProcesses 3\nfail nvmlDeviceGetUtilizationRates 3\n");
  const auto probe = nvml(loop_.get_executor(), options());
  const Gpus gpus = read(*probe);
  ASSERT_TRUE(gpus) << gpus.error().text();
  EXPECT_EQ(gpus->at(0).memory_used_bytes, Bytes{600} << 20);
  EXPECT_EQ(gpus->at(0).processes.size(), 1u);
}

TEST_F(NvmlTest, a_lost_card_is_unreachable_in_the_drivers_words) {
  play(kCard + "card 00000000:02:00.0 GPU-b 9 0 0 x\nlost 1\n");
  const auto probe = nvml(loop_.get_executor(), options());
  const Gpus lost = read(*probe);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::unreachable);
  EXPECT_EQ(lost.error().cause, "GPU is lost");
  EXPECT_THAT(lost.error().message, HasSubstr("GPU 1"));
  EXPECT_THAT(lost.error().hint, HasSubstr("Xid"));
  const auto child = children_of(::getpid());
  play(kCard + log());
  EXPECT_TRUE(read(*probe)) << "after a reset";
  EXPECT_EQ(children_of(::getpid()), child) << "by the same child";
  EXPECT_EQ(calls_of("nvmlInit_v2"), 1) << "which opens the driver anew";
}

TEST_F(NvmlTest, a_driver_that_refuses_says_why_and_may_recover) {
  play(kCard + "fail nvmlInit_v2 18\n");
  const auto probe = nvml(loop_.get_executor(), options());
  const Gpus refused = read(*probe);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unreachable);
  EXPECT_EQ(refused.error().cause, "Driver/library version mismatch");
  play(kCard);
  EXPECT_TRUE(read(*probe));
}

TEST_F(NvmlTest, without_a_driver_there_is_no_gpu_and_no_child_for_a_while) {
  play(kCard + log() + "fail nvmlInit_v2 9\n");
  const auto probe = nvml(loop_.get_executor(), options());
  for (int i = 0; i < 20; ++i) {
    const Gpus none = read(*probe);
    ASSERT_TRUE(none) << none.error().text();
    EXPECT_THAT(*none, IsEmpty());
    EXPECT_THAT(children_of(::getpid()), IsEmpty());
  }
  EXPECT_EQ(calls_of("nvmlInit_v2"), 1);
}

TEST_F(NvmlTest, a_driver_that_is_loaded_later_is_found) {
  play(kCard + "fail nvmlInit_v2 9\n");
  NvmlOptions soon = options();
  soon.ask_again = milliseconds(1);
  const auto probe = nvml(loop_.get_executor(), soon);
  ASSERT_THAT(*read(*probe), IsEmpty());
  play(kCard);
  read_until(*probe, [](const Gpus& gpus) { return gpus && gpus->size() == 1; });
}

TEST_F(NvmlTest, without_the_library_there_is_no_gpu) {
  use_library(folder_.string());
  if (::dlopen("libnvidia-ml.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "this machine has the driver's library";
  const auto probe = nvml(loop_.get_executor(), options());
  const Gpus none = read(*probe);
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_THAT(*none, IsEmpty());
}

}  // namespace
}  // namespace k3d::adapters
