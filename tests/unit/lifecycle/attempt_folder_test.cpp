#include "daemon/lifecycle/attempt_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "daemon/base/files.hpp"

namespace k3d::lifecycle {
namespace {

class AttemptFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    state_ = std::filesystem::temp_directory_path() / ("k3d-attempts-" + std::to_string(::getpid()));
    std::filesystem::remove_all(state_);
  }
  void TearDown() override { std::filesystem::remove_all(state_); }
  std::filesystem::path state_;
};

TEST_F(AttemptFolder, a_socket_that_outlived_its_engine_is_removed_before_a_start) {
  const auto folder = attempt_folder(state_, 3);
  ASSERT_TRUE(prepare_folder(folder, ""));
  std::ofstream(folder / "engine.sock") << "stale";
  ASSERT_TRUE(prepare_folder(folder, "the key"));
  EXPECT_FALSE(std::filesystem::exists(folder / "engine.sock"));
  EXPECT_EQ(kept_key(folder), "the key");
  struct stat st{};
  ASSERT_EQ(::stat(folder.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0700U);
}

TEST_F(AttemptFolder, the_newest_five_are_kept_and_the_running_one_always) {
  for (std::uint64_t attempt = 1; attempt <= 12; ++attempt) ASSERT_TRUE(prepare_folder(attempt_folder(state_, attempt), ""));
  prune_folders(state_, 5, 2);
  EXPECT_EQ(kept_attempts(state_), (std::vector<std::uint64_t>{12, 11, 10, 9, 8, 2}));
}

TEST_F(AttemptFolder, F40_a_flood_is_bounded_on_disk_and_its_tail_stays_readable) {
  const auto folder = attempt_folder(state_, 1);
  ASSERT_TRUE(prepare_folder(folder, ""));
  const auto log = folder / "engine.log";
  {
    std::ofstream out(log, std::ios::app);
    for (int i = 0; i < 200'000; ++i) out << "line " << i << " of a flood\n";
  }
  const Bytes before = log_length(log);
  bound_log(log, kMiB);
  struct stat st{};
  ASSERT_EQ(::stat(log.c_str(), &st), 0);
  EXPECT_LE(static_cast<Bytes>(st.st_blocks) * 512, kMiB);
  std::ofstream(log, std::ios::app) << "the last line\n";
  EXPECT_GE(log_length(log), before) << "readers go on at their offsets";
  const auto tail = log_tail(log, 2);
  ASSERT_EQ(tail.size(), 2U);
  EXPECT_EQ(tail[0], "line 199999 of a flood");
  EXPECT_EQ(tail[1], "the last line");
}

TEST_F(AttemptFolder, a_missing_log_is_empty) {
  EXPECT_TRUE(log_tail(state_ / "none", 10).empty());
  EXPECT_EQ(log_length(state_ / "none"), 0U);
}

}  // namespace
}  // namespace k3d::lifecycle
