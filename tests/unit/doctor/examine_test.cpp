// What holds of every host, and the verdicts on whole ones.
#include "daemon/doctor/examine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/doctor/hosts.hpp"

namespace k3d::doctor {
namespace {

using test::bad;
using test::bare;
using test::complaints;
using test::good;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Examine, the_reference_deployment_is_fine) { EXPECT_THAT(complaints(good()), IsEmpty()); }

TEST(Examine, every_host_gets_the_same_checks_in_the_same_order) {
  std::vector<std::string> codes;
  for (const HostCheck& check : examine(good())) codes.push_back(check.code);
  for (const HostReport& host : {HostReport{}, bare(), bad()}) {
    std::vector<std::string> others;
    for (const HostCheck& check : examine(host)) others.push_back(check.code);
    EXPECT_EQ(others, codes);
  }
  std::sort(codes.begin(), codes.end());
  EXPECT_EQ(std::adjacent_find(codes.begin(), codes.end()), codes.end()) << "each once";
}

TEST(Examine, every_verdict_says_what_was_measured_and_why_it_matters_and_every_complaint_what_to_do) {
  for (const HostReport& host : {HostReport{}, bare(), bad(), good()}) {
    for (const HostCheck& check : examine(host)) {
      EXPECT_NE(check.measured, "") << check.code;
      EXPECT_NE(check.why, "") << check.code;
      const bool complains = check.result == CheckResult::warn || check.result == CheckResult::fail;
      if (complains) EXPECT_NE(check.fix, "") << check.code;
      if (check.result == CheckResult::pass) EXPECT_EQ(check.fix, "") << check.code;
    }
  }
}

TEST(Examine, what_nobody_looked_at_is_never_passed) {
  for (const HostCheck& check : examine(HostReport{})) EXPECT_NE(check.result, CheckResult::pass) << check.code;
}

TEST(Examine, everything_that_is_wrong_is_found) {
  EXPECT_THAT(complaints(bad()),
              ElementsAre("fail gpu_driver_version", "fail gpu_open_module", "fail gpu_cards", "warn gpu_memory", "fail gpu_mig",
                          "fail gpu_ecc", "fail gpu_xid", "fail gpu_cdi", "warn docker_live_restore", "warn docker_memlock",
                          "warn cpu_avx512", "warn memory_available", "warn memory_huge_pages", "warn memory_swap",
                          "fail memory_numa_balancing", "warn disk_kind", "fail disk_access", "warn disk_free",
                          "warn disk_read_speed", "fail service_units", "fail service_engines", "warn network_tailscale",
                          "warn clock"));
}

TEST(Examine, a_host_without_a_driver_says_what_that_rules_out) {
  HostReport host = bare();
  const HostCheck unwanted = test::verdict(host, "gpu_driver");
  EXPECT_EQ(unwanted.result, CheckResult::warn) << "no profile asks for a GPU";
  EXPECT_THAT(unwanted.why, HasSubstr("every profile with gpus other than none"));
  EXPECT_THAT(unwanted.measured, HasSubstr("libnvidia-ml.so.1"));
  host.gpus_wanted = true;
  EXPECT_EQ(test::verdict(host, "gpu_driver").result, CheckResult::fail);
  for (const char* code : {"gpu_driver_version", "gpu_cards", "gpu_memory", "gpu_mig", "gpu_ecc", "gpu_xid", "gpu_cdi"}) {
    EXPECT_EQ(test::verdict(host, code).measured, "there is no driver") << code;
  }
}

TEST(Examine, a_host_without_docker_says_what_that_rules_out) {
  const HostCheck check = test::verdict(bare(), "docker_engine");
  EXPECT_EQ(check.result, CheckResult::fail);
  EXPECT_THAT(check.fix, HasSubstr("systemctl start docker"));
  EXPECT_EQ(test::verdict(bare(), "docker_live_restore").result, CheckResult::skip);
}

}  // namespace
}  // namespace k3d::doctor
