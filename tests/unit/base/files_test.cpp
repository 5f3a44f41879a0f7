#include "daemon/base/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace k3d {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("k3d-files-" + std::to_string(::getpid()));
    ASSERT_TRUE(make_folder(folder_));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Files, written_whole_with_its_mode_and_nothing_left_behind) {
  ASSERT_TRUE(write_file(folder_ / "a", "one"));
  ASSERT_TRUE(write_file(folder_ / "a", "two", 0600));
  EXPECT_EQ(read_file(folder_ / "a").value(), "two");
  struct stat st{};
  ASSERT_EQ(::stat((folder_ / "a").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0600U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, missing_and_too_large_are_told_apart) {
  EXPECT_EQ(read_file(folder_ / "none").error().code, Code::not_found);
  ASSERT_TRUE(write_file(folder_ / "big", std::string(2000, 'x')));
  EXPECT_EQ(read_file(folder_ / "big", 1000).error().code, Code::invalid_request);
}

TEST_F(Files, a_full_disk_has_its_own_code_and_says_what_to_do) {
  const Error error = file_error("write", "/var/lib/k3d/k3d.db", ENOSPC);
  EXPECT_EQ(error.code, Code::disk_full);
  EXPECT_NE(error.hint.find("/var/lib/k3d"), std::string::npos);
  EXPECT_EQ(write_file("/dev/full/x", "y").error().code, Code::io_failed);
}

}  // namespace
}  // namespace k3d
