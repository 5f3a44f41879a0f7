// Which files a request may name, and headers that are read once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "daemon/forecast/headers_cache.hpp"
#include "daemon/forecast/roots.hpp"
#include "tests/unit/planning/gguf_builder.hpp"

namespace k3d::forecast {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  Files() {
    folder_ = fs::canonical(fs::temp_directory_path()) / ("k3d-forecast-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    for (const char* name : {"hub", "made", "models", "elsewhere", "models-too"}) fs::create_directories(folder_ / name);
    settings_.hub.cache = folder_ / "hub";
    settings_.models["k3"].local = folder_ / "made";
    settings_.models["tiny"].path = folder_ / "models" / "tiny.gguf";
  }
  ~Files() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& architecture = "kimi-k3") {
    planning::test::GgufBuilder builder;
    builder.text("general.architecture", architecture);
    std::ofstream(folder_ / name, std::ios::binary) << builder.file();
    return folder_ / name;
  }
  Code refusal(const fs::path& path) {
    const auto files = files_of_set(path, settings_);
    return files ? Code::internal : files.error().code;
  }

  fs::path folder_;
  Settings settings_;
};

TEST_F(Files, below_the_configured_folders_are_allowed_with_their_whole_set) {
  EXPECT_THAT(*files_of_set(folder_ / "hub/a/b.gguf", settings_), ElementsAre(folder_ / "hub/a/b.gguf"));
  EXPECT_TRUE(files_of_set(folder_ / "models/other.gguf", settings_));
  EXPECT_THAT(*files_of_set(folder_ / "made/q/m-00002-of-00002.gguf", settings_),
              ElementsAre(folder_ / "made/q/m-00001-of-00002.gguf", folder_ / "made/q/m-00002-of-00002.gguf"));
}

TEST_F(Files, elsewhere_is_forbidden_whether_or_not_something_is_there) {
  write("elsewhere/there.gguf");
  for (const char* path : {"elsewhere/there.gguf", "elsewhere/not.gguf", "models/../elsewhere/there.gguf", "models-too/a.gguf"}) {
    EXPECT_EQ(refusal(folder_ / path), Code::forbidden) << path;
  }
  EXPECT_EQ(refusal("/etc/passwd"), Code::forbidden);
  EXPECT_EQ(refusal("models/tiny.gguf"), Code::invalid_request);
  EXPECT_THAT(files_of_set("/etc/passwd", settings_).error().hint, HasSubstr((folder_ / "made").string()));
}

TEST_F(Files, links_that_lead_out_are_forbidden_also_those_of_other_shards) {
  write("elsewhere/there.gguf");
  fs::create_symlink(folder_ / "elsewhere/there.gguf", folder_ / "models/link.gguf");
  fs::create_symlink(folder_ / "elsewhere", folder_ / "models/folder");
  fs::create_symlink(folder_ / "elsewhere/there.gguf", folder_ / "models/m-00002-of-00002.gguf");
  for (const char* path : {"models/link.gguf", "models/folder/there.gguf", "models/m-00001-of-00002.gguf"}) {
    EXPECT_EQ(refusal(folder_ / path), Code::forbidden) << path;
  }
}

TEST_F(Files, a_model_in_the_root_opens_nothing) {
  settings_.models["tiny"].path = "/tiny.gguf";
  EXPECT_EQ(refusal("/etc/passwd"), Code::forbidden);
}

TEST_F(Files, headers_are_read_once_and_again_when_a_file_is_another_one) {
  HeadersCache cache;
  const fs::path file = write("models/tiny.gguf");
  const auto first = cache.read({file});
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(*cache.read({file}), *first);
  EXPECT_EQ(cache.reads(), 1u);
  write("models/tiny.gguf", "other");
  const auto second = cache.read({file});
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->text("general.architecture"), "other");
  EXPECT_EQ(cache.reads(), 2u);
}

TEST_F(Files, a_file_that_can_not_be_read_is_asked_for_again) {
  HeadersCache cache;
  EXPECT_EQ(cache.read({folder_ / "models/none.gguf"}).error().code, Code::files_missing);
  const fs::path file = write("models/none.gguf");
  EXPECT_TRUE(cache.read({file}));
}

}  // namespace
}  // namespace k3d::forecast
