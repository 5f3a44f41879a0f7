// The kept copy of the configuration: when it is found, and when it must not be.
#include "config/last_good.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "decoding.hpp"

namespace k3d::config {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class LastGood : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "k3d-last-good-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ / "k3d.yaml";
    state_ = folder_ / "state";
    copy_ = state_ / "last-good.yaml";
    ::unsetenv("STATE_DIRECTORY");
    good_ = "instance: two\nstate: " + state_.string() + "\n";
  }
  void TearDown() override {
    ::unsetenv("STATE_DIRECTORY");
    std::filesystem::remove_all(folder_);
  }

  void write(const std::filesystem::path& file, const std::string& text, ::mode_t mode = 0644) {
    std::ofstream(file, std::ios::binary) << text;
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
  }
  void keep(const std::string& text) {
    write(file_, text);
    const Status kept = keep_last_good(state_, file_);
    ASSERT_TRUE(kept) << kept.error().text();
  }
  [[nodiscard]] Usable usable() const {
    const Result<Usable> found = load_usable(file_);
    EXPECT_TRUE(found) << found.error().text();
    return found.value_or(Usable{});
  }

  std::filesystem::path folder_, file_, state_, copy_;
  std::string good_;
};

TEST_F(LastGood, a_good_file_is_used_itself) {
  keep(good_);
  write(file_, "instance: three\nstate: " + state_.string() + "\n");
  EXPECT_EQ(usable().settings.instance, "three");
  EXPECT_EQ(usable().trouble, "");
}

TEST_F(LastGood, a_bad_file_is_replaced_by_the_copy_with_what_is_wrong) {
  keep(good_);
  write(file_, good_ + "slotz: 3\n");
  const Usable found = usable();
  EXPECT_EQ(found.settings.instance, "two");
  EXPECT_EQ(found.settings.file, file_);
  EXPECT_THAT(found.trouble, HasSubstr(file_.string() + ":3:1: slotz: there is no key \"slotz\" here"));
}

TEST_F(LastGood, the_copy_is_private_and_leaves_nothing_beside_it) {
  keep(good_);
  keep(good_);
  struct stat info {};
  ASSERT_EQ(::stat(copy_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(state_), {}), 1);
}

TEST_F(LastGood, the_newest_good_text_is_the_one_kept) {
  keep(good_);
  keep("instance: newer\nstate: " + state_.string() + "\n");
  write(file_, "state: " + state_.string() + "\n[");
  EXPECT_EQ(usable().settings.instance, "newer");
}

TEST_F(LastGood, a_bad_text_is_not_kept_over_a_good_one) {
  keep(good_);
  write(file_, good_ + "slotz: 3\n");
  const Status kept = keep_last_good(state_, file_);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::config_invalid);
  EXPECT_EQ(usable().settings.instance, "two");
}

TEST_F(LastGood, the_state_is_found_in_a_text_that_is_no_yaml_any_more) {
  keep(good_);
  for (const std::string& broken : std::vector<std::string>{"a: [\n" + good_, good_ + "\tx: {", good_ + "b: c: d\n"}) {
    write(file_, broken);
    EXPECT_EQ(usable().settings.instance, "two") << broken;
  }
}

TEST_F(LastGood, the_service_managers_folder_is_looked_into) {
  keep(good_);
  write(file_, "[");
  EXPECT_EQ(load_usable(file_).error().code, Code::config_invalid);
  ::setenv("STATE_DIRECTORY", ("/nonexistent:" + state_.string()).c_str(), 1);
  EXPECT_EQ(usable().settings.instance, "two");
  EXPECT_THAT(last_good_folders(file_), Contains(std::filesystem::path("/var/lib/k3d")));
}

TEST_F(LastGood, a_file_that_is_gone_or_that_others_may_write_is_bad_too) {
  keep(good_);
  ::setenv("STATE_DIRECTORY", state_.c_str(), 1);
  write(file_, good_, 0666);
  EXPECT_EQ(usable().settings.instance, "two");
  EXPECT_THAT(usable().trouble, HasSubstr("can be written by its group or by others"));
  std::filesystem::remove(file_);
  EXPECT_EQ(usable().settings.instance, "two");
}

TEST_F(LastGood, a_copy_of_another_file_is_none) {
  keep(good_);
  const std::filesystem::path other = folder_ / "other.yaml";
  write(other, good_ + "slotz: 3\n");
  EXPECT_EQ(load_last_good(other, {state_}).error().code, Code::not_found);
  EXPECT_EQ(load_usable(other).error().code, Code::config_invalid);
}

TEST_F(LastGood, the_same_file_by_another_spelling_is_the_same) {
  keep(good_);
  EXPECT_TRUE(load_last_good(folder_ / "state" / ".." / "k3d.yaml", {state_}));
}

TEST_F(LastGood, a_copy_that_is_bad_itself_is_none) {
  keep(good_);
  const std::string copy = read_all(copy_);
  for (const std::string& bad : std::vector<std::string>{"", copy + "slotz: 3\n", copy.substr(0, copy.size() / 3),
                                                         good_, std::string(2U << 20U, 'x'), copy + '\0'}) {
    write(copy_, bad, 0600);
    EXPECT_EQ(load_last_good(file_, {state_}).error().code, Code::not_found);
  }
  write(copy_, copy, 0600);
  EXPECT_TRUE(load_last_good(file_, {state_}));
}

TEST_F(LastGood, a_copy_that_others_may_write_is_none) {
  keep(good_);
  ASSERT_EQ(::chmod(copy_.c_str(), 0620), 0);
  EXPECT_FALSE(load_last_good(file_, {state_}));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chmod(copy_.c_str(), 0600), 0);
    ASSERT_EQ(::chown(copy_.c_str(), 12345, 0), 0);
    EXPECT_FALSE(load_last_good(file_, {state_}));
  }
}

TEST_F(LastGood, a_later_folder_is_taken_if_the_first_has_none) {
  keep(good_);
  EXPECT_EQ(load_last_good(file_, {folder_ / "none", state_})->instance, "two");
  EXPECT_EQ(load_last_good(file_, {}).error().code, Code::not_found);
}

TEST_F(LastGood, a_text_of_the_largest_size_comes_back) {
  const std::string text = good_ + "# " + std::string((1U << 20U) - good_.size() - 3, 'x') + "\n";
  keep(text);
  write(file_, good_ + "[");
  EXPECT_EQ(usable().settings.instance, "two");
}

TEST_F(LastGood, a_state_that_cant_be_written_says_so) {
  write(file_, good_);
  write(state_, "a file");
  EXPECT_EQ(keep_last_good(state_, file_).error().code, Code::io_failed);
}

}  // namespace
}  // namespace k3d::config
