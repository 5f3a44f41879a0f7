// Sets of files: any of them leads to the whole, and a set that isn't one is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/unit/planning/gguf_builder.hpp"

namespace k3d::planning::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t kF32 = 0;

/// Files in memory by their names.
struct Folder {
  std::map<std::string, std::string> files;
  std::vector<std::string> opened;

  Result<ModelHeaders> read(const std::string& name) {
    opened.clear();
    return read_model(name, [this](const std::string& wanted) -> Result<std::unique_ptr<ByteSource>> {
      opened.push_back(wanted);
      const auto at = files.find(wanted);
      if (at == files.end()) return fail(Code::files_missing, "there is no " + wanted);
      return std::make_unique<MemorySource>(at->second, wanted);
    });
  }
};

std::string shard(std::uint16_t number, std::uint16_t count, const std::vector<std::string>& tensors,
                  std::int32_t total) {
  GgufBuilder builder;
  if (number == 0) builder.text("general.architecture", "kimi-k3");
  builder.split(number, count, total);
  for (const std::string& name : tensors) builder.tensor(name, kF32, {8});
  return builder.file();
}

std::string name_of(int number, int count = 3) {
  return "m-0000" + std::to_string(number) + "-of-0000" + std::to_string(count) + ".gguf";
}

Folder sound() {
  Folder folder;
  folder.files[name_of(1)] = shard(0, 3, {}, 3);  // metadata alone
  folder.files[name_of(2)] = shard(1, 3, {"a", "b"}, 3);
  folder.files[name_of(3)] = shard(2, 3, {"c"}, 3);
  return folder;
}

TEST(GgufSet, any_shard_leads_to_the_whole_set_and_each_is_opened_once) {
  Folder folder = sound();
  for (int given = 1; given <= 3; ++given) {
    const auto model = folder.read(name_of(given));
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_EQ(folder.opened.size(), 3U);
    EXPECT_EQ(model->text("general.architecture"), "kimi-k3");
    ASSERT_EQ(model->shards.size(), 3U);
    EXPECT_EQ(model->shards[1].name, name_of(2));
    ASSERT_EQ(model->tensors.size(), 3U);
    EXPECT_EQ(model->tensors[0].shard, 1);
    EXPECT_EQ(model->tensors[2].name, "c");
    EXPECT_EQ(model->tensors[2].shard, 2);
  }
}

TEST(GgufSet, a_single_file_is_a_model_of_its_own) {
  Folder folder;
  folder.files["tiny.gguf"] = GgufBuilder().tensor("a", kF32, {8}).file();
  folder.files["one.gguf"] = shard(0, 1, {"a"}, 1);
  folder.files["m-00001-of-00001.gguf"] = GgufBuilder().tensor("a", kF32, {8}).file();
  for (const auto& [name, content] : folder.files) {
    const auto model = folder.read(name);
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_EQ(model->shards.size(), 1U);
    EXPECT_THAT(folder.opened, ElementsAre(name));
  }
}

TEST(GgufSet, a_missing_shard_is_named) {
  Folder folder = sound();
  folder.files.erase(name_of(2));
  const auto model = folder.read(name_of(3));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::shard_missing);
  EXPECT_THAT(model.error().message, HasSubstr(name_of(2)));
  EXPECT_EQ(folder.read("none.gguf").error().code, Code::files_missing);
}

void expect_refused(Folder folder, const std::string& words) {
  const auto model = folder.read(name_of(1));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::model_corrupt);
  EXPECT_THAT(model.error().message, HasSubstr(words));
}

Folder with(int number, const std::string& content) {
  Folder folder = sound();
  folder.files[name_of(number)] = content;
  return folder;
}

TEST(GgufSet, files_that_are_no_set_are_refused) {
  expect_refused(with(3, sound().files[name_of(2)]), name_of(3) + " says that it is shard 2 of 3");
  expect_refused(with(2, sound().files[name_of(3)]), name_of(2) + " says that it is shard 3 of 3");
  expect_refused(with(3, shard(2, 4, {"c"}, 3)), "shard 3 of 4");
  expect_refused(with(3, GgufBuilder().tensor("c", kF32, {8}).file()), "shard 1 of 1");
  expect_refused(with(3, shard(2, 3, {"a"}, 3)), "tensor a is in another file");
  expect_refused(with(3, shard(2, 3, {"c", "d"}, 3)), "the set has 3 tensors; it has 4");
  expect_refused(with(3, shard(2, 3, {"c"}, 7)), name_of(3) + " says that the set has 7 tensors");
}

TEST(GgufSet, a_name_that_its_metadata_deny_is_refused) {
  expect_refused(with(1, GgufBuilder().file()), "is called so");
  expect_refused(with(1, shard(1, 3, {}, 3)), "is called so");
  expect_refused(with(1, shard(0, 2, {}, 3)), "is called so");
  expect_refused(with(1, shard(3, 3, {}, 3)), "split.no is 3");
  expect_refused(with(1, GgufBuilder().text("split.count", "three").file()), "split.count is no integer");
  Folder folder;
  folder.files["renamed.gguf"] = shard(0, 3, {}, 3);
  EXPECT_EQ(folder.read("renamed.gguf").error().code, Code::model_corrupt);
}

TEST(GgufSet, a_file_once_more_is_no_second_shard) {
  const auto file = parse(shard(0, 2, {"a"}, 1));
  ASSERT_TRUE(file);
  EXPECT_EQ(join({*file, *file}).error().code, Code::model_corrupt);
  EXPECT_EQ(join({}).error().code, Code::model_corrupt);
}

class GgufFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "k3d-gguf-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(GgufFiles, a_set_on_disk_is_read_from_any_of_its_files) {
  for (const auto& [name, content] : sound().files) std::ofstream(folder_ / name, std::ios::binary) << content;
  const auto model = read_model(folder_ / name_of(2));
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->tensors.size(), 3U);
}

TEST_F(GgufFiles, what_is_no_file_is_an_error_and_is_not_waited_for) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe.gguf").c_str(), 0600), 0);
  EXPECT_EQ(read_model(folder_ / "pipe.gguf").error().code, Code::model_corrupt);
  EXPECT_EQ(read_model(folder_).error().code, Code::model_corrupt);
  EXPECT_EQ(read_model(folder_ / "none.gguf").error().code, Code::files_missing);
}

}  // namespace
}  // namespace k3d::planning::test
