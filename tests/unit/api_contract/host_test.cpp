#include "api/contract/host.hpp"

#include <gtest/gtest.h>

#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

HostDiagnosis known() {
  HostDiagnosis diagnosis;
  HostReport& host = diagnosis.facts;
  GpuFacts gpu;
  gpu.state = {0, "GPU-a", "NVIDIA H200", 150, 50, 7, {{42, "python3", Bytes{40}, "", false}}};
  gpu.free_bytes = 100;
  gpu.compute_capability = "9.0";
  gpu.mig = false;
  gpu.ecc = true;
  gpu.uncorrected_errors = 0;
  gpu.xids = {31};
  GpuFacts lost;
  lost.state.index = 1;
  lost.trouble = "GPU is lost";
  host.gpus = GpuReport{"", "570.86.15", true, {gpu, lost}};
  host.module = DriverModule{"570.86.15", true};
  host.docker = DockerFacts{"28.5.2", "1.51", true, true, {}, false};
  host.cpu = CpuFacts{"Xeon", 2, 64, 128, true, false};
  NumaFacts numa;
  numa.nodes = 2;
  numa.balancing = true;
  host.numa = numa;
  host.memory = MemoryFacts{1000, 900, 10, 1, 5, 60};
  DiskFacts disk;
  disk.path = "/data/hf/hub";
  disk.total_bytes = 100;
  disk.free_bytes = 60;
  disk.filesystem = "ext4";
  disk.kind = DiskKind::local_nvme;
  disk.read_speed = ReadSpeed{5e9, 10};
  host.disks = std::vector{disk};
  host.tailscale_address = "100.64.0.7";
  diagnosis.checks = {{"gpu_driver", CheckResult::pass, "answers", "it matters", ""}};
  return diagnosis;
}

TEST(HostJson, has_every_field) {
  const std::string text = host_json(known());
  EXPECT_EQ(schema_faults("Host", text), "");
  const Json host = Json::parse(text);
  EXPECT_EQ(host["gpus"][0]["memory_free_bytes"], 100);
  EXPECT_EQ(host["gpus"][0]["processes"][0]["pid"], 42);
  EXPECT_EQ(host["gpus"][1]["trouble"], "GPU is lost");
  EXPECT_TRUE(host["gpus"][1]["ecc"].is_null());
  EXPECT_EQ(host["driver"].dump(), R"({"version":"570.86.15","open_module":true})");
  EXPECT_EQ(host["cpu"].dump(), R"({"model":"Xeon","sockets":2,"cores":64,"threads":128,"avx512":true,"amx":false})");
  EXPECT_EQ(host["numa"].dump(), R"({"nodes":2,"balancing":true})");
  EXPECT_EQ(host["docker"].dump(), R"({"version":"28.5.2","api_version":"1.51","cdi":true,"live_restore":false})");
  EXPECT_EQ(host["disks"][0]["kind"], "local_nvme");
  EXPECT_EQ(host["checks"].dump(),
            R"([{"code":"gpu_driver","result":"pass","measured":"answers","why":"it matters","fix":null}])");
}

TEST(HostJson, what_is_not_known_is_null) {
  const std::string text = host_json({});
  EXPECT_EQ(schema_faults("Host", text), "");
  EXPECT_EQ(text, R"({"taken_at":null,"gpus":[],"driver":null,"cpu":null,"numa":null,"memory":null,"disks":[],)"
                  R"("docker":null,"tailscale_address":null,"checks":[]})");
  HostDiagnosis closed;
  closed.facts.disks = std::vector{DiskFacts{}};
  closed.facts.numa = NumaFacts{};
  EXPECT_EQ(schema_faults("Host", host_json(closed)), "");
}

}  // namespace
}  // namespace k3d::api
