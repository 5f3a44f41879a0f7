// Processors, memory, NUMA and the driver's module of made-up hosts, and of this one.
#include "daemon/adapters/proc_machine.hpp"

#include <gmock/gmock.h>

#include "tests/unit/adapters/tree.hpp"

namespace k3d::adapters {
namespace {

using testing::HasSubstr;

class ProcMachine : public test::TreeTest {
 protected:
  void two_nodes(const std::string& balancing) const {
    put("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       528000000 kB\nNode 0 MemFree: 1 kB\n");
    put("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       528000000 kB\n");
    put("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:       0 kB\n");  // of processors, or of a GPU's memory
    put("proc/sys/kernel/numa_balancing", balancing);
  }
  [[nodiscard]] std::optional<bool> after_boot() const { return read_numa(root_)->balancing_after_boot; }
};

TEST_F(ProcMachine, processors) {
  put("proc/cpuinfo",
      "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) 6730P\nphysical id\t: 0\ncore id\t\t: 0\nflags\t\t: fpu avx512f amx_tile\n\n"
      "processor\t: 1\nmodel name\t: Intel(R) Xeon(R) 6730P\nphysical id\t: 1\ncore id\t\t: 0\nflags\t\t: fpu avx512f amx_tile\n\n"
      "processor\t: 2\nmodel name\t: Intel(R) Xeon(R) 6730P\nphysical id\t: 1\ncore id\t\t: 0\nflags\t\t: fpu avx512f amx_tile\n");
  const auto cpu = read_cpu(root_);
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->model, "Intel(R) Xeon(R) 6730P");
  EXPECT_EQ(cpu->sockets, 2);
  EXPECT_EQ(cpu->cores, 2);
  EXPECT_EQ(cpu->threads, 3);
  EXPECT_EQ(cpu->avx512, true);
  EXPECT_EQ(cpu->amx, true);
}

TEST_F(ProcMachine, a_processor_of_another_kind_has_no_such_flags) {
  put("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
  EXPECT_EQ(read_cpu(root_)->avx512, std::nullopt);
  EXPECT_EQ(read_cpu(root_)->amx, std::nullopt);
  EXPECT_EQ(cpu_of("processor: 0\nflags: avx2 avx512fp16\n").avx512, false) << "whole words";
}

TEST_F(ProcMachine, memory) {
  put("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 60 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\nHugetlb: 8 kB\n");
  put("proc/sys/vm/swappiness", "60\n");
  const auto memory = read_memory(root_);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->available_bytes, 60 * kKiB);
  EXPECT_EQ(memory->swap_used_bytes, 6 * kKiB);
  EXPECT_EQ(memory->huge_pages_bytes, 8 * kKiB);
  EXPECT_EQ(memory->swappiness, 60);
}

TEST_F(ProcMachine, what_is_not_there_is_unknown_with_the_reason) {
  EXPECT_THAT(read_cpu(root_).error(), HasSubstr("there is no"));
  EXPECT_FALSE(read_memory(root_));
  EXPECT_FALSE(read_numa(root_));
  EXPECT_FALSE(read_driver_module(root_ / "version"));
}

TEST_F(ProcMachine, balancing_counts_nodes_that_have_memory) {
  two_nodes("1\n");
  const auto numa = read_numa(root_);
  ASSERT_TRUE(numa);
  EXPECT_EQ(numa->nodes, 2);
  EXPECT_EQ(numa->balancing, true);
  two_nodes("0\n");
  EXPECT_EQ(read_numa(root_)->balancing, false);
}

TEST_F(ProcMachine, a_kernel_without_balancing_never_balances) {
  put("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 5 kB\n");
  EXPECT_EQ(read_numa(root_)->balancing, false);
  EXPECT_EQ(read_numa(root_)->balancing_after_boot, false);
}

TEST_F(ProcMachine, what_a_boot_brings_is_read_as_sysctl_applies_it) {
  two_nodes("0\n");
  EXPECT_EQ(after_boot(), std::nullopt);
  put("proc/cmdline", "root=/dev/sda1 numa_balancing=disable quiet\n");
  EXPECT_EQ(after_boot(), false);
  put("usr/lib/sysctl.d/50-vendor.conf", "# kernel.numa_balancing = 0\nkernel.numa_balancing=1\n");
  EXPECT_EQ(after_boot(), true);
  put("etc/sysctl.d/50-vendor.conf", "vm.swappiness = 1\n");
  EXPECT_EQ(after_boot(), false) << "a file of the same name in /etc takes its place";
  put("etc/sysctl.d/60-on.conf", "kernel/numa_balancing = 1\n");
  put("etc/sysctl.d/k3d.conf", "  -kernel.numa_balancing =  0\n");
  EXPECT_EQ(after_boot(), false) << "the later name counts";
  put("etc/sysctl.conf", "kernel.numa_balancing = 2\n");
  EXPECT_EQ(after_boot(), true);
}

TEST_F(ProcMachine, the_open_module_says_so) {
  put("version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)\n"
                 "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n");
  EXPECT_TRUE(read_driver_module(root_ / "version")->open);
  EXPECT_EQ(read_driver_module(root_ / "version")->version, "570.86.15");
  put("version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n");
  EXPECT_FALSE(read_driver_module(root_ / "version")->open);
  EXPECT_EQ(read_driver_module(root_ / "version")->version, "550.54.14");
}

TEST_F(ProcMachine, timesyncd_vouches_for_the_clock) {
  put("run/systemd/timesync/synchronized", "");
  EXPECT_EQ(read_clock(root_), true);
}

TEST(ProcMachineHere, this_host_is_known) {
  EXPECT_GE(read_cpu("/")->cores, 1);
  EXPECT_GT(read_memory("/")->total_bytes, 0u);
  EXPECT_LE(read_memory("/")->available_bytes, read_memory("/")->total_bytes);
}

}  // namespace
}  // namespace k3d::adapters
