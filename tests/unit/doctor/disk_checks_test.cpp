// Verdicts on the disks under weights and state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/doctor/hosts.hpp"

namespace k3d::doctor {
namespace {

using test::good;
using test::verdict;
using test::weights;
using testing::HasSubstr;

HostReport with(DiskFacts disk) {
  HostReport host = good();
  host.disks = std::vector{std::move(disk)};
  return host;
}

TEST(DiskChecks, only_local_disks_are_fine_and_a_virtual_one_tells_nothing) {
  EXPECT_EQ(verdict(with(weights(DiskKind::local_nvme)), "disk_kind").result, CheckResult::pass);
  EXPECT_EQ(verdict(with(weights(DiskKind::network)), "disk_kind").result, CheckResult::warn);
  EXPECT_EQ(verdict(with(weights(DiskKind::rotating)), "disk_kind").result, CheckResult::warn);
  EXPECT_EQ(verdict(with(weights(DiskKind::virtual_disk)), "disk_kind").result, CheckResult::skip);
  DiskFacts closed = weights(DiskKind::ssd);
  closed.kind = unknown("/sys tells nothing of it");
  EXPECT_EQ(verdict(with(closed), "disk_kind").result, CheckResult::skip);
}

TEST(DiskChecks, the_worst_of_several_disks_counts_and_all_are_named) {
  HostReport host = good();
  DiskFacts other = weights(DiskKind::network);
  other.use = DiskUse::model_files;
  other.path = other.there = "/mnt/models";
  host.disks->push_back(other);
  const HostCheck check = verdict(host, "disk_kind");
  EXPECT_EQ(check.result, CheckResult::warn);
  EXPECT_EQ(check.measured, "/data/hf/hub: local NVMe; /mnt/models: over a network");
}

TEST(DiskChecks, a_cache_that_no_profile_uses_is_not_judged) {
  HostReport host = with(weights(DiskKind::network));
  host.hub_wanted = false;
  host.disks->front().readable = false;
  EXPECT_EQ(verdict(host, "disk_kind").result, CheckResult::skip);
  EXPECT_EQ(verdict(host, "disk_access").result, CheckResult::skip);
}

TEST(DiskChecks, weights_that_are_here_need_no_room_any_more) {
  DiskFacts disk = weights(DiskKind::local_nvme);
  disk.free_bytes = 100 * kGiB;
  EXPECT_EQ(verdict(with(disk), "disk_free").result, CheckResult::warn);
  disk.weights_bytes = 700 * kGiB;
  EXPECT_EQ(verdict(with(disk), "disk_free").result, CheckResult::pass);
  disk.use = DiskUse::state;
  disk.weights_bytes = 0;
  EXPECT_EQ(verdict(with(disk), "disk_free").result, CheckResult::pass);
  disk.free_bytes = kMiB;
  EXPECT_EQ(verdict(with(disk), "disk_free").result, CheckResult::fail);
}

TEST(DiskChecks, what_k3d_can_not_read_fails_and_what_it_can_not_write_is_told) {
  DiskFacts disk = weights(DiskKind::local_nvme);
  disk.writable = false;
  EXPECT_EQ(verdict(with(disk), "disk_access").result, CheckResult::warn) << "no downloads";
  disk.readable = false;
  EXPECT_EQ(verdict(with(disk), "disk_access").result, CheckResult::fail);
  disk = weights(DiskKind::local_nvme);
  disk.there = "/data";
  EXPECT_THAT(verdict(with(disk), "disk_access").measured, HasSubstr("/data/hf/hub is not there yet, and /data is writable"));
  disk.writable = false;
  EXPECT_EQ(verdict(with(disk), "disk_access").result, CheckResult::warn);
}

TEST(DiskChecks, speed_is_told_as_the_time_of_a_load) {
  DiskFacts disk = weights(DiskKind::local_nvme);
  disk.read_speed = ReadSpeed{1e9, 2 * kGiB};
  EXPECT_EQ(verdict(with(disk), "disk_read_speed").result, CheckResult::pass);
  EXPECT_THAT(verdict(with(disk), "disk_read_speed").measured, HasSubstr("1.0 GB/s over 2.1 GB, so 11 min 50 s for 710.8 GB"));
  disk.read_speed = ReadSpeed{2e8, 2 * kGiB};
  EXPECT_EQ(verdict(with(disk), "disk_read_speed").result, CheckResult::warn);
  disk.read_speed = ReadSpeed{9e9, 19 * kMiB};
  EXPECT_EQ(verdict(with(disk), "disk_read_speed").result, CheckResult::skip) << "too little";
  disk.read_speed = unknown("not measured");
  EXPECT_EQ(verdict(with(disk), "disk_read_speed").result, CheckResult::skip);
  EXPECT_THAT(verdict(with(disk), "disk_read_speed").fix, HasSubstr("k3ctl doctor --probe"));
}

}  // namespace
}  // namespace k3d::doctor
