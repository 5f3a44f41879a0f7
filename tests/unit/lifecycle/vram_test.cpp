#include "daemon/lifecycle/vram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace k3d::lifecycle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kOurs(64, 'a'), kOther(64, 'b');
const std::vector<std::string> kBoth{"GPU-0", "GPU-1"};

GpuProcess process(int pid, std::string name, std::optional<Bytes> memory, std::string container = {}) {
  return {pid, std::move(name), memory, std::move(container), false};
}

GpuState gpu(int index, Bytes used, std::vector<GpuProcess> processes = {}) {
  return {index, "GPU-" + std::to_string(index), "NVIDIA H200", 140 * kGiB, used, 0, std::move(processes)};
}

std::string detail_of(const std::vector<GpuState>& gpus, const VramNeed& need = {}) {
  const auto failure = vram_in_the_way(mark_ours(gpus, kOurs), kBoth, need);
  return failure ? failure->detail : "";
}

TEST(MarkOurs, is_by_the_container_alone) {
  std::vector<GpuState> gpus{gpu(0, 0, {process(1, "llama-server", kGiB, kOurs), process(2, "llama-server", kGiB, kOther)}),
                             gpu(1, 0, {process(3, "llama-server", kGiB)})};
  gpus[1].processes[0].ours = true;
  gpus = mark_ours(gpus, kOurs);
  EXPECT_TRUE(gpus[0].processes[0].ours);
  EXPECT_FALSE(gpus[0].processes[1].ours);
  EXPECT_FALSE(gpus[1].processes[0].ours) << "what was marked for an earlier engine";
  EXPECT_FALSE(mark_ours(gpus, "")[1].processes[0].ours) << "a process without a container is not of no engine's";
}

TEST(UuidsOfDevices, by_every_name_that_a_launch_may_have) {
  const std::vector<GpuState> gpus{gpu(0, 0), gpu(1, 0), gpu(10, 0)};
  EXPECT_THAT(uuids_of_devices({"nvidia.com/gpu=all"}, gpus), ElementsAre("GPU-0", "GPU-1", "GPU-10"));
  EXPECT_THAT(uuids_of_devices({"nvidia.com/gpu=1"}, gpus), ElementsAre("GPU-1"));
  EXPECT_THAT(uuids_of_devices({"nvidia.com/gpu=GPU-10", "nvidia.com/gpu=0"}, gpus), ElementsAre("GPU-0", "GPU-10"));
  EXPECT_THAT(uuids_of_devices({"nvidia.com/gpu=7", "nvidia.com/gpu=MIG-1", "nvidia.com/gpu=0:1"}, gpus), IsEmpty());
  EXPECT_THAT(uuids_of_devices({}, gpus), IsEmpty());
}

TEST(VramInTheWay, F36_a_process_of_ours_counts_however_small) {
  const auto failure = vram_in_the_way(
      mark_ours({gpu(0, 120 * kGiB, {process(42, "llama-server", 500 * kMiB, kOurs), process(7, "x", 119 * kGiB)})}, kOurs),
      kBoth, {});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, "vram_not_released");
  EXPECT_TRUE(failure->retryable);
  EXPECT_EQ(failure->detail,
            "GPU 0: 128.8 GB of 150.3 GB used, 21.5 GB free; held by x (pid 7, 127.8 GB), "
            "llama-server (pid 42, 524.3 MB, container aaaaaaaaaaaa, ours)");
  EXPECT_THAT(failure->advice, HasSubstr("old engine"));
}

TEST(VramInTheWay, F36_memory_that_no_process_accounts_for) {
  EXPECT_EQ(detail_of({gpu(0, kGiB)}), "") << "what a driver keeps for itself";
  EXPECT_EQ(detail_of({gpu(0, 30 * kGiB)}),
            "GPU 0: 32.2 GB of 150.3 GB used, 118.1 GB free; 32.2 GB belong to no process");
  EXPECT_EQ(detail_of({gpu(0, 30 * kGiB, {process(7, "x", 29 * kGiB)})}), "");
  EXPECT_EQ(detail_of({gpu(0, 30 * kGiB, {process(7, "x", 31 * kGiB)})}), "") << "shared memory is counted twice";
  EXPECT_EQ(detail_of({gpu(0, 30 * kGiB, {process(7, "x", kGiB), process(8, "y", std::nullopt)})}), "")
      << "y may hold the rest";
}

TEST(VramInTheWay, F36_less_is_free_than_needed) {
  const std::vector<GpuState> gpus{gpu(0, 40 * kGiB, {process(7, "python3", 40 * kGiB, kOther)}), gpu(1, 0)};
  EXPECT_EQ(detail_of(gpus, {{{"GPU-0", 100 * kGiB}, {"GPU-1", 140 * kGiB}}}), "") << "just enough";
  EXPECT_EQ(detail_of(gpus, {{{"GPU-0", 100 * kGiB + 1}, {"GPU-1", 141 * kGiB}}}),
            "GPU 0: 42.9 GB of 150.3 GB used, 107.4 GB free, 107.4 GB needed; "
            "held by python3 (pid 7, 42.9 GB, container bbbbbbbbbbbb). "
            "GPU 1: 0 B of 150.3 GB used, 150.3 GB free, 151.4 GB needed");
}

TEST(VramInTheWay, looks_at_the_gpus_of_the_launch_only) {
  const std::vector<GpuState> gpus = mark_ours({gpu(0, 0), gpu(2, 90 * kGiB, {process(1, "a", kGiB, kOurs)})}, kOurs);
  EXPECT_FALSE(vram_in_the_way(gpus, kBoth, {{{"GPU-2", 140 * kGiB}}}));
  EXPECT_TRUE(vram_in_the_way(gpus, {"GPU-2"}, {}));
  EXPECT_FALSE(vram_in_the_way({}, kBoth, {{{"GPU-0", kGiB}}})) << "a host without a driver";
}

TEST(VramInTheWay, is_not_fooled_by_more_used_than_there_is) {
  EXPECT_THAT(detail_of({gpu(0, 150 * kGiB, {process(7, "x", 150 * kGiB)})}, {{{"GPU-0", 1}}}), HasSubstr(" 0 B free"));
}

TEST(ForeignGpuProcesses, are_told_by_gpu) {
  std::vector<GpuState> gpus{gpu(0, 0, {process(42, "llama-server", kGiB, kOurs), process(7, "", std::nullopt)}),
                             gpu(1, 0, {process(8, "python3", kGiB, kOther)}), gpu(2, 0, {process(9, "z", kGiB)})};
  const auto condition = foreign_gpu_processes(mark_ours(gpus, kOurs), kBoth);
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->code, "foreign_gpu_processes");
  EXPECT_EQ(condition->severity, Severity::warning);
  EXPECT_EQ(condition->detail,
            "GPU 0: a process (pid 7, memory unknown). GPU 1: python3 (pid 8, 1.1 GB, container bbbbbbbbbbbb)");
  EXPECT_FALSE(condition->advice.empty());
}

TEST(ForeignGpuProcesses, none_is_no_condition) {
  const std::vector<GpuState> gpus = mark_ours({gpu(0, 0, {process(42, "llama-server", kGiB, kOurs)})}, kOurs);
  EXPECT_FALSE(foreign_gpu_processes(gpus, kBoth));
  EXPECT_FALSE(foreign_gpu_processes({}, kBoth));
}

TEST(ForeignGpuProcesses, a_crowd_is_counted) {
  std::vector<GpuProcess> crowd;
  for (int pid = 1; pid <= 30; ++pid) crowd.push_back(process(pid, "p", static_cast<Bytes>(pid) * kMiB));
  const auto condition = foreign_gpu_processes({gpu(0, 0, crowd)}, kBoth);
  ASSERT_TRUE(condition);
  EXPECT_THAT(condition->detail, HasSubstr("p (pid 30, 31.5 MB), p (pid 29"));
  EXPECT_THAT(condition->detail, HasSubstr(" and 22 more"));
  EXPECT_THAT(condition->detail, Not(HasSubstr("pid 22,")));
}

}  // namespace
}  // namespace k3d::lifecycle
