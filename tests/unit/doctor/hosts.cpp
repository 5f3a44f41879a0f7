#include "tests/unit/doctor/hosts.hpp"

#include <gtest/gtest.h>

#include "daemon/doctor/examine.hpp"

namespace k3d::doctor::test {

GpuFacts card(int index) {
  GpuFacts gpu;
  gpu.state.index = index;
  gpu.state.uuid = "GPU-" + std::to_string(index);
  gpu.state.name = "NVIDIA RTX PRO 6000 Blackwell Server Edition";
  gpu.state.memory_total_bytes = 97887 * kMiB;
  gpu.free_bytes = 97000 * kMiB;
  gpu.compute_capability = "12.0";
  gpu.mig = false;
  gpu.ecc = true;
  gpu.uncorrected_errors = 0;
  return gpu;
}

DiskFacts weights(DiskKind kind) {
  DiskFacts disk;
  disk.use = DiskUse::hub_cache;
  disk.path = disk.there = "/data/hf/hub";
  disk.total_bytes = 8000 * kGiB;
  disk.free_bytes = 4000 * kGiB;
  disk.filesystem = "ext4";
  disk.kind = kind;
  disk.readable = disk.writable = true;
  disk.read_speed = ReadSpeed{6e9, 4 * kGiB};
  return disk;
}

HostReport good() {
  HostReport host;
  host.gpus_wanted = host.hub_wanted = host.tailscale_wanted = true;
  GpuReport report;
  report.driver_version = "575.57.08";
  report.xids_heard = true;
  DockerFacts docker{"28.5.2", "1.51", true, true, {"nvidia.com/gpu=all"}, true};
  for (int i = 0; i < 8; ++i) {
    report.gpus.push_back(card(i));
    docker.cdi_devices.push_back("nvidia.com/gpu=" + std::to_string(i));
    docker.cdi_devices.push_back("nvidia.com/gpu=GPU-" + std::to_string(i));
  }
  host.gpus = report;
  host.module = DriverModule{"575.57.08", true};
  host.docker = docker;
  host.cpu = CpuFacts{"Intel(R) Xeon(R) 6730P", 2, 64, 128, true, true};
  NumaFacts numa;
  numa.nodes = 2;
  numa.balancing = false;
  numa.balancing_after_boot = false;
  host.numa = numa;
  MemoryFacts memory;
  memory.total_bytes = 1024 * kGiB;
  memory.available_bytes = 1000 * kGiB;
  host.memory = memory;
  host.memlock = MemlockFacts{"containerd", true, true};
  host.disks = std::vector{weights(DiskKind::local_nvme)};
  host.units = std::vector<UnitFacts>{};
  host.servers = std::vector<ForeignServer>{};
  host.tailscale_address = "100.64.0.7";
  host.clock_synchronised = true;
  return host;
}

HostReport bare() {
  HostReport host;
  GpuReport none;
  none.no_driver = "libnvidia-ml.so.1: cannot open shared object file";
  host.gpus = none;
  host.docker = fail(Code::docker_unavailable, "Docker does not answer", "start it: `systemctl start docker`");
  return host;
}

namespace {

GpuReport bad_gpus() {
  GpuReport report;
  report.driver_version = "550.54.14";
  for (int i = 0; i < 3; ++i) report.gpus.push_back(card(i));
  report.gpus[0].mig = true;
  report.gpus[0].uncorrected_errors = 3;
  report.gpus[0].xids = {13, 79};
  report.gpus[0].state.processes = {{4242, "python3", 40'000'000'000, std::string(64, 'c'), false}};
  report.gpus[1] = GpuFacts{};
  report.gpus[1].state.index = 1;
  report.gpus[1].trouble = "GPU is lost";
  report.gpus[2].ecc = false;
  return report;
}

}  // namespace

HostReport bad() {
  HostReport host = good();
  host.gpus = bad_gpus();
  host.module = DriverModule{"550.54.14", false};
  host.docker->live_restore = false;
  host.docker->cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=7"};
  host.memlock_refused = true;
  host.cpu = CpuFacts{"old", 1, 4, 4, false, false};
  host.numa->balancing = true;
  host.memory = MemoryFacts{64 * kGiB, 8 * kGiB, 32 * kGiB, 10 * kGiB, 32 * kGiB, 60};
  DiskFacts disk = weights(DiskKind::network);
  disk.free_bytes = 10 * kGiB;
  disk.readable = disk.writable = false;
  disk.read_speed = ReadSpeed{1e8, kGiB};
  host.disks = std::vector{disk};
  host.units = std::vector<UnitFacts>{{"kimi-k3.service", true, true}, {"other.service", false, true}};
  host.servers = std::vector<ForeignServer>{{4242, std::string(64, 'c')}, {7, ""}};
  host.tailscale_address.clear();
  host.clock_synchronised = false;
  return host;
}

HostCheck verdict(const HostReport& host, const std::string& code) {
  for (HostCheck& check : examine(host)) {
    if (check.code == code) return check;
  }
  ADD_FAILURE() << "no check " << code;
  return {};
}

std::vector<std::string> complaints(const HostReport& host) {
  std::vector<std::string> out;
  for (const HostCheck& check : examine(host)) {
    if (check.result != CheckResult::pass) out.push_back(std::string(to_string(check.result)) + " " + check.code);
  }
  return out;
}

}  // namespace k3d::doctor::test
