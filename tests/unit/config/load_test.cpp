// The file on disk: who may change it.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "decoding.hpp"

namespace k3d::config {
namespace {

using testing::HasSubstr;

class Load : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "k3d-load-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ / "k3d.yaml";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text, ::mode_t mode = 0644) {
    std::ofstream(file_, std::ios::binary) << text;
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
  }
  [[nodiscard]] Error error() const {
    const Result<Settings> loaded = load(file_);
    EXPECT_FALSE(loaded);
    return loaded ? Error{} : loaded.error();
  }

  std::filesystem::path folder_, file_;
};

TEST_F(Load, a_good_file) {
  write("instance: two\n", 0640);
  const Result<Settings> loaded = load(file_);
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(loaded->instance, "two");
  EXPECT_EQ(loaded->file, file_);
}

TEST_F(Load, mistakes_are_lines_of_one_message) {
  write("instance: /\nboot: lats\n");
  const Error e = error();
  EXPECT_EQ(e.code, Code::config_invalid);
  EXPECT_THAT(e.message, HasSubstr(file_.string() + ":1:11: instance: \"/\" is no name"));
  EXPECT_THAT(e.message, HasSubstr("\n" + file_.string() + ":2:7: boot: there is no profile "));
}

TEST_F(Load, a_file_that_others_can_write_is_refused) {
  for (const ::mode_t mode : {0664U, 0646U, 0666U}) {
    write("instance: a\n", mode);
    EXPECT_THAT(error().message, HasSubstr("can be written by its group or by others"));
  }
}

TEST_F(Load, a_file_of_somebody_else_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write("instance: a\n");
  ASSERT_EQ(::chown(file_.c_str(), 12345, 0), 0);
  EXPECT_THAT(error().message, HasSubstr("belongs to user 12345"));
}

TEST_F(Load, what_is_no_file_or_too_large) {
  EXPECT_EQ(error().code, Code::config_invalid);
  write("# " + std::string(1U << 20U, 'x') + "\n");
  EXPECT_EQ(error().code, Code::config_invalid);
  EXPECT_EQ(load(folder_).error().code, Code::config_invalid);
}

}  // namespace
}  // namespace k3d::config
