// Finding a model's files, on real folders: sets of shards, the hub's cache layout, links.
#include "daemon/hub/model_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace k3d::hub {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRevision = "a0836360ce58dfec088d966a97f2ddc8a606279b";

std::string gguf(std::size_t size, unsigned version = 3) {
  std::string head("GGUF\0\0\0\0", 8);
  head[4] = static_cast<char>(version);
  return head + std::string(size - head.size(), 'x');
}

class ModelFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::canonical(fs::temp_directory_path()) / ("k3d-hub-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    settings_.hub.cache = folder_ / "hub";
    Model path_model;
    path_model.name = "local";
    settings_.models["local"] = path_model;
    Model model;
    model.name = "kimi-k3";
    model.repo = "unsloth/Kimi-K3-GGUF";
    model.revision = kRevision;
    model.mmproj = "mmproj-BF16.gguf";
    model.local = folder_ / "made";
    settings_.models["kimi-k3"] = model;
    profile_.name = "batch";
    profile_.model = "kimi-k3";
    profile_.quant = "UD-Q2";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void put(const fs::path& file, const std::string& content) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  static std::string shard(int number, int count) {
    char name[64];
    std::snprintf(name, sizeof name, "M-%05d-of-%05d.gguf", number, count);
    return name;
  }
  [[nodiscard]] fs::path repository() const { return folder_ / "hub/models--unsloth--Kimi-K3-GGUF"; }
  [[nodiscard]] fs::path snapshot() const { return repository() / "snapshots" / kRevision; }

  /// A file of the cache as the hub's own tools lay it: a blob, and a relative link to it.
  void cache(const std::string& name, const std::string& content) const {
    const std::string blob = "b" + std::to_string(std::hash<std::string>()(name));
    put(repository() / "blobs" / blob, content);
    fs::create_directories((snapshot() / name).parent_path());
    const bool nested = name.find('/') != std::string::npos;
    fs::create_symlink(fs::path(nested ? "../../../blobs" : "../../blobs") / blob, snapshot() / name);
  }

  Result<ModelFiles> at_path(const fs::path& path) {
    settings_.models["local"].path = path;
    profile_.model = "local";
    profile_.quant.clear();
    return find_model_files(settings_, profile_);
  }
  Result<ModelFiles> find() { return find_model_files(settings_, profile_); }

  static void expect_missing(const Result<ModelFiles>& files, const std::string& words) {
    ASSERT_FALSE(files);
    EXPECT_THAT(files.error().code, testing::AnyOf(Code::files_missing, Code::shard_missing, Code::not_first_shard,
                                                   Code::model_corrupt));
    EXPECT_THAT(files.error().message, HasSubstr(words));
    EXPECT_FALSE(files.error().hint.empty());
  }

  fs::path folder_;
  Settings settings_;
  Profile profile_;
};

TEST_F(ModelFilesTest, what_is_wrong_has_its_own_code) {
  EXPECT_EQ(at_path(folder_ / "none.gguf").error().code, Code::files_missing);
  put(folder_ / "page.gguf", "<html>not found</html>");
  EXPECT_EQ(at_path(folder_ / "page.gguf").error().code, Code::model_corrupt);
  put(folder_ / "m-00001-of-00002.gguf", gguf(100));
  EXPECT_EQ(at_path(folder_ / "m-00001-of-00002.gguf").error().code, Code::shard_missing);
  EXPECT_EQ(at_path(folder_ / "m-00002-of-00002.gguf").error().code, Code::not_first_shard);
}

TEST_F(ModelFilesTest, a_single_file) {
  put(folder_ / "tiny.gguf", gguf(1000));
  const auto files = at_path(folder_ / "tiny.gguf");
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->first_shard, folder_ / "tiny.gguf");
  EXPECT_EQ(files->mount_folder, folder_);
  EXPECT_EQ(files->total_bytes, 1000U);
  EXPECT_EQ(files->shards.size(), 1U);
  EXPECT_TRUE(files->mmproj.empty());
}

TEST_F(ModelFilesTest, a_set_of_shards) {
  for (int i = 1; i <= 3; ++i) put(folder_ / shard(i, 3), gguf(100 + static_cast<std::size_t>(i)));
  const auto files = at_path(folder_ / shard(1, 3));
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->shards.size(), 3U);
  EXPECT_EQ(files->shards[2], folder_ / shard(3, 3));
  EXPECT_EQ(files->total_bytes, 306U);
}

TEST_F(ModelFilesTest, every_missing_shard_is_named_up_to_five) {
  put(folder_ / shard(1, 9), gguf(100));
  put(folder_ / shard(4, 9), gguf(100));
  const auto files = at_path(folder_ / shard(1, 9));
  expect_missing(files, shard(2, 9));
  for (const int i : {3, 5, 6, 7}) EXPECT_THAT(files.error().message, HasSubstr(shard(i, 9)));
  EXPECT_THAT(files.error().message, Not(HasSubstr(shard(8, 9))));
  EXPECT_THAT(files.error().message, HasSubstr("2 more"));
  EXPECT_THAT(files.error().message, HasSubstr("7 of 9"));
  EXPECT_THAT(files.error().message, HasSubstr(folder_.string()));
}

TEST_F(ModelFilesTest, files_that_cant_be_used) {
  expect_missing(at_path(folder_ / "none.gguf"), "none.gguf is not there");
  put(folder_ / "empty.gguf", "");
  expect_missing(at_path(folder_ / "empty.gguf"), "is empty");
  put(folder_ / "text.gguf", "<html>not found</html>");
  expect_missing(at_path(folder_ / "text.gguf"), "is no GGUF file");
  put(folder_ / "short.gguf", "GGUF");
  expect_missing(at_path(folder_ / "short.gguf"), "is no GGUF file");
  put(folder_ / "old.gguf", gguf(100, 1));
  expect_missing(at_path(folder_ / "old.gguf"), "version 1");
  put(folder_ / "new.gguf", gguf(100, 9));
  expect_missing(at_path(folder_ / "new.gguf"), "version 9");
  fs::create_directories(folder_ / "folder.gguf");
  expect_missing(at_path(folder_ / "folder.gguf"), "is no regular file");
  ASSERT_EQ(::mkfifo((folder_ / "pipe.gguf").c_str(), 0600), 0);
  expect_missing(at_path(folder_ / "pipe.gguf"), "is no regular file");
  if (::geteuid() != 0) {
    put(folder_ / "closed.gguf", gguf(100));
    ASSERT_EQ(::chmod((folder_ / "closed.gguf").c_str(), 0), 0);
    expect_missing(at_path(folder_ / "closed.gguf"), "Permission denied");
  }
}

TEST_F(ModelFilesTest, another_shard_than_the_first_is_refused_with_the_first) {
  for (int i = 1; i <= 3; ++i) put(folder_ / shard(i, 3), gguf(100));
  const auto files = at_path(folder_ / shard(2, 3));
  expect_missing(files, "shard 2 of 3");
  EXPECT_THAT(files.error().hint, HasSubstr(shard(1, 3)));
}

TEST_F(ModelFilesTest, the_hubs_cache) {
  for (int i = 1; i <= 2; ++i) cache("UD-Q2/" + shard(i, 2), gguf(100));
  cache("mmproj-BF16.gguf", gguf(50));
  const auto files = find();
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->first_shard, snapshot() / "UD-Q2" / shard(1, 2));
  EXPECT_EQ(files->mount_folder, repository()) << "the links lead to blobs, which the container must see";
  EXPECT_EQ(files->mmproj, snapshot() / "mmproj-BF16.gguf");
  EXPECT_EQ(files->total_bytes, 200U);
  EXPECT_EQ(files->first_shard.lexically_relative(files->mount_folder).begin()->string(), "snapshots");
}

TEST_F(ModelFilesTest, a_download_that_is_not_complete) {
  cache("UD-Q2/" + shard(2, 3), gguf(100));
  expect_missing(find(), shard(1, 3) + " is not there");
  fs::create_symlink("../../../blobs/none", snapshot() / "UD-Q2" / shard(1, 3));
  const auto files = find();
  expect_missing(files, shard(3, 3));
  EXPECT_THAT(files.error().hint, HasSubstr(kRevision));
}

TEST_F(ModelFilesTest, quants_made_here_come_first) {
  cache("UD-Q2/" + shard(1, 1), gguf(100));
  put(folder_ / "made/UD-Q2/reap.gguf", gguf(70));
  put(folder_ / "made/mmproj-BF16.gguf", gguf(50));
  const auto files = find();
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->first_shard, folder_ / "made/UD-Q2/reap.gguf");
  EXPECT_EQ(files->mount_folder, folder_ / "made");
  EXPECT_EQ(files->mmproj, folder_ / "made/mmproj-BF16.gguf");
  profile_.quant = "UD-Q4";
  cache("UD-Q4/single.gguf", gguf(80));
  const auto other = find();
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(other->first_shard, snapshot() / "UD-Q4/single.gguf");
}

TEST_F(ModelFilesTest, nothing_at_all_says_where_it_was_looked_for) {
  const auto files = find();
  expect_missing(files, (folder_ / "made/UD-Q2").string());
  EXPECT_THAT(files.error().message, HasSubstr((snapshot() / "UD-Q2").string()));
}

TEST_F(ModelFilesTest, two_models_in_one_folder_are_refused) {
  put(folder_ / "made/UD-Q2/a.gguf", gguf(70));
  put(folder_ / "made/UD-Q2/b.gguf", gguf(70));
  expect_missing(find(), "more than one model: a.gguf and b.gguf");
}

TEST_F(ModelFilesTest, F94_links_that_leave_the_mounted_folder) {
  put(folder_ / "outside.gguf", gguf(100));
  fs::create_directories(folder_ / "in");
  fs::create_symlink(folder_ / "outside.gguf", folder_ / "in/a.gguf");
  expect_missing(at_path(folder_ / "in/a.gguf"), "leads out of");
  fs::create_symlink("../outside.gguf", folder_ / "in/b.gguf");
  expect_missing(at_path(folder_ / "in/b.gguf"), "leads out of");
  put(folder_ / "in/real.gguf", gguf(100));
  fs::create_symlink("real.gguf", folder_ / "in/c.gguf");
  EXPECT_TRUE(at_path(folder_ / "in/c.gguf"));
  // A neighbour whose name begins like the folder's is outside too.
  put(folder_ / "in2/x.gguf", gguf(100));
  fs::create_symlink("../in2/x.gguf", folder_ / "in/d.gguf");
  expect_missing(at_path(folder_ / "in/d.gguf"), "leads out of");
}

TEST_F(ModelFilesTest, F94_a_vision_file_that_leads_out_is_not_used) {
  cache("UD-Q2/" + shard(1, 1), gguf(100));
  put(folder_ / "secret.gguf", gguf(100));
  fs::create_symlink(folder_ / "secret.gguf", snapshot() / "mmproj-BF16.gguf");
  const auto files = find();
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_TRUE(files->mmproj.empty());
}

TEST_F(ModelFilesTest, a_linked_folder_counts_as_the_folder_it_leads_to) {
  put(folder_ / "disk/tiny.gguf", gguf(100));
  fs::create_directory_symlink(folder_ / "disk", folder_ / "models");
  EXPECT_TRUE(at_path(folder_ / "models/tiny.gguf"));
}

TEST_F(ModelFilesTest, identity_changes_with_a_file) {
  put(folder_ / shard(1, 2), gguf(100));
  put(folder_ / shard(2, 2), gguf(100));
  const auto before = at_path(folder_ / shard(1, 2));
  const auto again = at_path(folder_ / shard(1, 2));
  ASSERT_TRUE(before && again);
  EXPECT_EQ(before->identity, again->identity);
  put(folder_ / shard(2, 2), gguf(101));
  const auto grown = at_path(folder_ / shard(1, 2));
  ASSERT_TRUE(grown);
  EXPECT_NE(before->identity, grown->identity);
  fs::last_write_time(folder_ / shard(1, 2), fs::last_write_time(folder_ / shard(1, 2)) - std::chrono::seconds(5));
  const auto touched = at_path(folder_ / shard(1, 2));
  ASSERT_TRUE(touched);
  EXPECT_NE(grown->identity, touched->identity);
}

TEST_F(ModelFilesTest, an_unknown_model) {
  profile_.model = "none";
  expect_missing(find(), "names no known model");
}

}  // namespace
}  // namespace k3d::hub
