// Units and processes of other engines on made-up hosts.
#include "daemon/adapters/proc_units.hpp"

#include <gmock/gmock.h>

#include "daemon/adapters/proc_servers.hpp"
#include "tests/unit/adapters/tree.hpp"

namespace k3d::adapters {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string kId(64, 'a');

class ProcUnits : public test::TreeTest {
 protected:
  void boot() const { std::filesystem::create_directories(root_ / "run/systemd/system"); }
  [[nodiscard]] std::string units() const {
    const auto found = read_engine_units(root_);
    if (!found) return found.error();
    std::string out;
    for (const UnitFacts& unit : *found) {
      out += unit.name + (unit.enabled ? " enabled" : "") + (unit.running ? " running" : "") + "; ";
    }
    return out;
  }
};

TEST_F(ProcUnits, those_of_the_reference_deployment_are_known_by_name) {
  boot();
  put("etc/systemd/system/kimi-k3.service", "[Service]\nExecStart=/opt/run.sh\n");
  put("etc/systemd/system/kimi-k3-interactive.service", "[Service]\nExecStart=/opt/run.sh\n");
  put("etc/systemd/system/nginx.service", "[Service]\nExecStart=/usr/sbin/nginx\n");
  EXPECT_EQ(units(), "kimi-k3-interactive.service; kimi-k3.service; ");
  link("etc/systemd/system/multi-user.target.wants/kimi-k3.service", "/etc/systemd/system/kimi-k3.service");
  put("sys/fs/cgroup/system.slice/kimi-k3-interactive.service/cgroup.procs", "7\n");
  EXPECT_EQ(units(), "kimi-k3-interactive.service running; kimi-k3.service enabled; ");
}

TEST_F(ProcUnits, others_are_known_by_what_they_start) {
  boot();
  put("usr/lib/systemd/system/llm.service", "[Unit]\nDescription=x\n[Service]\nExecStart=docker run ghcr.io/x llama-server -m y\n");
  put("usr/lib/systemd/system/doc.service", "[Unit]\nDescription=not llama-server\n[Service]\nExecStart=/bin/true\n");
  put("sys/fs/cgroup/systemd/system.slice/llm.service/cgroup.procs", "");
  EXPECT_EQ(units(), "llm.service running; ");
}

TEST_F(ProcUnits, masked_ones_are_none) {
  boot();
  put("usr/lib/systemd/system/kimi-k3.service", "[Service]\nExecStart=llama-server\n");
  link("etc/systemd/system/kimi-k3.service", "/dev/null");
  EXPECT_EQ(units(), "");
}

TEST_F(ProcUnits, without_systemd_nothing_is_known) { EXPECT_THAT(units(), HasSubstr("systemd does not run")); }

TEST_F(ProcUnits, servers_are_found_with_their_containers) {
  put("proc/1/comm", "systemd\n");
  put("proc/40/comm", "llama-server\n");
  put("proc/40/cgroup", "0::/system.slice/docker-" + kId + ".scope\n");
  put("proc/40/status", "State:\tS (sleeping)\n");
  put("proc/9/comm", "llama-server\n");
  put("proc/10/comm", "llama-server\n");
  put("proc/10/status", "Name:\tllama-server\nState:\tZ (zombie)\n");
  put("proc/11/comm", "python3\n");
  put("proc/self/comm", "llama-server\n");
  const auto servers = read_servers(root_);
  ASSERT_TRUE(servers);
  ASSERT_EQ(servers->size(), 2u);
  EXPECT_EQ(servers->at(0).pid, 9);
  EXPECT_EQ(servers->at(0).container, "");
  EXPECT_EQ(servers->at(1).pid, 40);
  EXPECT_EQ(servers->at(1).container, kId);
}

TEST_F(ProcUnits, where_processes_are_hidden_nothing_is_said_of_them) {
  put("proc/9/comm", "k3d\n");
  EXPECT_THAT(read_servers(root_).error(), HasSubstr("hidepid"));
  EXPECT_FALSE(read_memlock(root_));
}

TEST_F(ProcUnits, memlock_is_that_of_who_starts_containers) {
  put("proc/7/comm", "dockerd\n");
  put("proc/7/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
                       "Max locked memory         8388608              unlimited            bytes     \n");
  put("proc/7/status", "CapEff:\t0000000000000000\n");
  EXPECT_EQ(read_memlock(root_)->process, "dockerd");
  EXPECT_TRUE(read_memlock(root_)->unlimited);
  EXPECT_FALSE(read_memlock(root_)->may_raise);
  put("proc/8/comm", "containerd\n");
  put("proc/8/limits", "Max locked memory         8388608              8388608              bytes     \n");
  put("proc/8/status", "CapEff:\t000001ffffffffff\n");
  EXPECT_EQ(read_memlock(root_)->process, "containerd");
  EXPECT_FALSE(read_memlock(root_)->unlimited);
  EXPECT_TRUE(read_memlock(root_)->may_raise);
  put("proc/8/status", "CapEff:\t000001fffeffffff\n");
  EXPECT_FALSE(read_memlock(root_)->may_raise);
}

}  // namespace
}  // namespace k3d::adapters
