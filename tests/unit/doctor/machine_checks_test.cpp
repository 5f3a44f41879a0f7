// Verdicts on Docker, processors, memory, services and the clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/doctor/hosts.hpp"

namespace k3d::doctor {
namespace {

using test::good;
using test::verdict;
using testing::AllOf;
using testing::HasSubstr;

TEST(MachineChecks, numa_balancing_fails_on_several_nodes_with_both_fixes) {
  HostReport host = good();
  host.numa->balancing = true;
  const HostCheck check = verdict(host, "memory_numa_balancing");
  EXPECT_EQ(check.result, CheckResult::fail);
  EXPECT_THAT(check.fix, AllOf(HasSubstr("sysctl -w kernel.numa_balancing=0"), HasSubstr("/etc/sysctl.d/k3d.conf")));
  host.numa->nodes = 1;
  EXPECT_EQ(verdict(host, "memory_numa_balancing").result, CheckResult::pass);
}

TEST(MachineChecks, numa_balancing_that_comes_back_with_a_boot_is_told) {
  HostReport host = good();
  for (const std::optional<bool> after : {std::optional<bool>(), std::optional(true)}) {
    host.numa->balancing_after_boot = after;
    EXPECT_EQ(verdict(host, "memory_numa_balancing").result, CheckResult::warn);
    EXPECT_THAT(verdict(host, "memory_numa_balancing").measured, HasSubstr("after a reboot"));
  }
  host.numa->balancing = unknown("closed to uid 998");
  EXPECT_EQ(verdict(host, "memory_numa_balancing").result, CheckResult::skip);
  EXPECT_EQ(verdict(host, "memory_numa_balancing").measured, "closed to uid 998");
}

TEST(MachineChecks, missing_amx_is_a_note_and_missing_avx512_a_warning) {
  HostReport host = good();
  host.cpu->amx = host.cpu->avx512 = false;
  EXPECT_EQ(verdict(host, "cpu_amx").result, CheckResult::pass);
  EXPECT_EQ(verdict(host, "cpu_avx512").result, CheckResult::warn);
  host.cpu->amx = host.cpu->avx512 = std::nullopt;
  EXPECT_EQ(verdict(host, "cpu_amx").result, CheckResult::skip);
  EXPECT_EQ(verdict(host, "cpu_avx512").result, CheckResult::skip);
}

TEST(MachineChecks, swap_matters_when_the_kernel_is_eager_to_use_it) {
  HostReport host = good();
  host.memory->swap_total_bytes = 8 * kGiB;
  EXPECT_EQ(verdict(host, "memory_swap").result, CheckResult::skip) << "swappiness is unknown";
  host.memory->swappiness = 60;
  EXPECT_EQ(verdict(host, "memory_swap").result, CheckResult::warn);
  host.memory->swappiness = 1;
  EXPECT_EQ(verdict(host, "memory_swap").result, CheckResult::pass);
}

TEST(MachineChecks, huge_pages_matter_when_they_are_many) {
  HostReport host = good();
  host.memory->huge_pages_bytes = kGiB;
  EXPECT_EQ(verdict(host, "memory_huge_pages").result, CheckResult::pass);
  host.memory->huge_pages_bytes = 512 * kGiB;
  EXPECT_EQ(verdict(host, "memory_huge_pages").result, CheckResult::warn);
}

TEST(DockerChecks, memlock_is_fine_where_docker_may_lift_it) {
  HostReport host = good();
  host.memlock = MemlockFacts{"containerd", false, true};
  EXPECT_EQ(verdict(host, "docker_memlock").result, CheckResult::pass);
  host.memlock->may_raise = false;
  EXPECT_EQ(verdict(host, "docker_memlock").result, CheckResult::warn);
  EXPECT_THAT(verdict(host, "docker_memlock").fix, HasSubstr("LimitMEMLOCK=infinity"));
  host.memlock = MemlockFacts{"containerd", true, true};
  host.memlock_refused = true;
  EXPECT_EQ(verdict(host, "docker_memlock").result, CheckResult::warn) << "what happened counts more than what should";
}

TEST(DockerChecks, live_restore_off_is_told_with_the_line_of_daemon_json) {
  HostReport host = good();
  host.docker->live_restore = false;
  EXPECT_EQ(verdict(host, "docker_live_restore").result, CheckResult::warn);
  EXPECT_THAT(verdict(host, "docker_live_restore").fix, HasSubstr("{\"live-restore\": true} in /etc/docker/daemon.json"));
}

TEST(ServiceChecks, an_enabled_or_running_unit_fails_with_the_command_that_ends_it) {
  HostReport host = good();
  host.units = std::vector<UnitFacts>{{"kimi-k3.service", true, false}, {"old.service", false, false}, {"x.service", false, true}};
  const HostCheck check = verdict(host, "service_units");
  EXPECT_EQ(check.result, CheckResult::fail);
  EXPECT_EQ(check.measured, "kimi-k3.service is enabled, x.service runs");
  EXPECT_EQ(check.fix, "`systemctl disable --now kimi-k3.service x.service`");
  host.units = std::vector<UnitFacts>{{"kimi-k3.service", false, false}};
  EXPECT_EQ(verdict(host, "service_units").result, CheckResult::pass);
  EXPECT_THAT(verdict(host, "service_units").measured, HasSubstr("neither enabled nor running: kimi-k3.service"));
}

TEST(ServiceChecks, a_foreign_engine_fails_only_on_the_gpus) {
  HostReport host = good();
  host.servers = std::vector<ForeignServer>{{42, ""}};
  EXPECT_EQ(verdict(host, "service_engines").result, CheckResult::warn);
  host.gpus->gpus[6].state.processes = {{42, "llama-server", kGiB, "", false}};
  EXPECT_EQ(verdict(host, "service_engines").result, CheckResult::fail);
  host.servers = unknown("other people's processes are hidden");
  EXPECT_EQ(verdict(host, "service_engines").result, CheckResult::skip);
}

TEST(MachineChecks, tailscale_matters_to_a_proxy_that_wants_it) {
  HostReport host = good();
  host.tailscale_address.clear();
  EXPECT_EQ(verdict(host, "network_tailscale").result, CheckResult::warn);
  host.tailscale_wanted = false;
  EXPECT_EQ(verdict(host, "network_tailscale").result, CheckResult::skip);
}

}  // namespace
}  // namespace k3d::doctor
