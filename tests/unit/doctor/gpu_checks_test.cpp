// Verdicts on the driver, its cards and their CDI names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/doctor/hosts.hpp"

namespace k3d::doctor {
namespace {

using test::good;
using test::verdict;
using testing::AllOf;
using testing::HasSubstr;

TEST(GpuChecks, a_driver_that_hangs_fails_and_what_it_would_tell_is_skipped) {
  HostReport host = good();
  host.gpus = fail(Code::timed_out, "the GPUs' driver took longer than 4500 ms", "a driver that hangs may need a reboot");
  EXPECT_EQ(verdict(host, "gpu_driver").result, CheckResult::fail);
  EXPECT_THAT(verdict(host, "gpu_driver").fix, HasSubstr("reboot"));
  EXPECT_EQ(verdict(host, "gpu_driver_version").result, CheckResult::pass) << "/proc tells";
  for (const char* code : {"gpu_cards", "gpu_memory", "gpu_mig", "gpu_ecc", "gpu_xid", "gpu_cdi"}) {
    EXPECT_EQ(verdict(host, code).result, CheckResult::skip) << code;
  }
}

TEST(GpuChecks, the_driver_is_570_at_least) {
  HostReport host = good();
  for (const auto& [version, result] : {std::pair{"570.0", CheckResult::pass}, {"1000.1", CheckResult::pass},
                                        {"569.99", CheckResult::fail}, {"535.183.01", CheckResult::fail}}) {
    host.gpus->driver_version = version;
    EXPECT_EQ(verdict(host, "gpu_driver_version").result, result) << version;
    EXPECT_EQ(verdict(host, "gpu_driver_version").measured, version);
  }
}

TEST(GpuChecks, the_proprietary_module_fails_only_for_cards_that_need_the_open_one) {
  HostReport host = good();
  host.module = DriverModule{"570.86.15", false};
  EXPECT_EQ(verdict(host, "gpu_open_module").result, CheckResult::fail);
  for (GpuFacts& gpu : host.gpus->gpus) gpu.compute_capability = "9.0";
  EXPECT_EQ(verdict(host, "gpu_open_module").result, CheckResult::warn);
}

TEST(GpuChecks, a_lost_card_is_named_beside_those_that_are_well) {
  HostReport host = good();
  host.gpus->gpus[3] = GpuFacts{};
  host.gpus->gpus[3].state.index = 3;
  host.gpus->gpus[3].trouble = "GPU is lost";
  const HostCheck check = verdict(host, "gpu_cards");
  EXPECT_EQ(check.result, CheckResult::fail);
  EXPECT_THAT(check.measured, AllOf(HasSubstr("GPU 3: GPU is lost"), HasSubstr("7 x NVIDIA RTX PRO 6000")));
  EXPECT_THAT(check.fix, HasSubstr("dmesg | grep Xid"));
}

TEST(GpuChecks, a_tenant_is_named_with_what_it_holds_but_not_our_engine) {
  HostReport host = good();
  host.gpus->gpus[0].state.processes = {{7, "llama-server", 80'000'000'000, "", true}};
  EXPECT_EQ(verdict(host, "gpu_memory").result, CheckResult::pass);
  host.gpus->gpus[1].state.processes = {{4242, "python3", 40'000'000'000, std::string(64, 'c'), false}};
  const HostCheck check = verdict(host, "gpu_memory");
  EXPECT_EQ(check.result, CheckResult::warn);
  EXPECT_THAT(check.measured, HasSubstr("GPU 1: python3 (pid 4242, 40.0 GB, container cccccccccccc)"));
}

TEST(GpuChecks, memory_that_no_process_holds_is_told) {
  HostReport host = good();
  host.gpus->gpus[2].state.memory_used_bytes = 20 * kGiB;
  EXPECT_THAT(verdict(host, "gpu_memory").measured, HasSubstr("GPU 2: 21.5 GB held by no process"));
  EXPECT_EQ(verdict(host, "gpu_memory").result, CheckResult::warn);
}

TEST(GpuChecks, ecc_that_is_on_but_not_counted_is_no_pass) {
  HostReport host = good();
  host.gpus->gpus[5].uncorrected_errors.reset();
  EXPECT_EQ(verdict(host, "gpu_ecc").result, CheckResult::skip);
  host.gpus->gpus[5].uncorrected_errors = 1;
  EXPECT_EQ(verdict(host, "gpu_ecc").measured, "GPU 5: 1 uncorrected errors");
  EXPECT_EQ(verdict(host, "gpu_ecc").result, CheckResult::fail);
}

TEST(GpuChecks, xids_of_programs_are_no_trouble_of_the_card) {
  HostReport host = good();
  host.gpus->gpus[0].xids = {31};
  EXPECT_EQ(verdict(host, "gpu_xid").result, CheckResult::pass);
  EXPECT_THAT(verdict(host, "gpu_xid").measured, HasSubstr("Xid 31"));
  host.gpus->gpus[0].xids = {31, 79};
  EXPECT_EQ(verdict(host, "gpu_xid").result, CheckResult::fail);
  host.gpus->gpus[0].xids.clear();
  host.gpus->xids_heard = false;
  EXPECT_EQ(verdict(host, "gpu_xid").result, CheckResult::skip);
}

TEST(CdiCheck, indexes_alone_or_uuids_alone_suffice) {
  HostReport host = good();
  for (const std::string prefix : {"", "gpu", "GPU-"}) {
    host.docker->cdi_devices = {"nvidia.com/gpu=all", "other.com/thing=0", "nvidia.com/gpu=0:1", "nvidia.com/gpu=MIG-1"};
    for (int i = 0; i < 8; ++i) host.docker->cdi_devices.push_back("nvidia.com/gpu=" + prefix + std::to_string(i));
    EXPECT_EQ(verdict(host, "gpu_cdi").result, CheckResult::pass) << prefix << verdict(host, "gpu_cdi").measured;
  }
}

TEST(CdiCheck, what_docker_lacks_and_what_is_gone_is_named) {
  HostReport host = good();
  host.docker->cdi_devices = {"nvidia.com/gpu=all"};
  for (int i = 0; i < 7; ++i) host.docker->cdi_devices.push_back("nvidia.com/gpu=" + std::to_string(i));
  host.docker->cdi_devices.push_back("nvidia.com/gpu=GPU-old");
  const HostCheck check = verdict(host, "gpu_cdi");
  EXPECT_EQ(check.result, CheckResult::fail);
  EXPECT_EQ(check.measured, "GPU 7 has no name; no such card: GPU-old");
  EXPECT_THAT(check.fix, HasSubstr("nvidia-ctk cdi generate"));
}

TEST(CdiCheck, an_engine_without_cdi_is_told_how_to_get_it) {
  HostReport host = good();
  host.docker->cdi = false;
  for (const auto& [version, fix] : {std::pair{"20.10.24+dfsg1", "update Docker"}, {"27.3.1", "\"cdi\": true"},
                                     {"28.5.2", "\"cdi\": false"}}) {
    host.docker->version = version;
    EXPECT_EQ(verdict(host, "gpu_cdi").result, CheckResult::fail);
    EXPECT_THAT(verdict(host, "gpu_cdi").fix, HasSubstr(fix)) << version;
  }
}

TEST(CdiCheck, an_engine_that_does_not_list_its_names_is_skipped) {
  HostReport host = good();
  host.docker->cdi_devices_known = false;
  host.docker->cdi_devices.clear();
  EXPECT_EQ(verdict(host, "gpu_cdi").result, CheckResult::skip);
  EXPECT_THAT(verdict(host, "gpu_cdi").fix, HasSubstr("nvidia-ctk cdi list"));
}

}  // namespace
}  // namespace k3d::doctor
