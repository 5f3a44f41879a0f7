// Files that the gguf library wrote, read by it and by k3d: both see the same. Needs Docker and the engine image.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

#include "daemon/planning/gguf_reader.hpp"

namespace k3d::planning {
namespace {

using Lines = std::set<std::string>;

struct Shown {
  std::string operator()(std::int64_t value) const { return fmt::format("int {}", value); }
  std::string operator()(double value) const { return fmt::format("real {:.6e}", value); }
  std::string operator()(bool value) const { return fmt::format("bool {}", value ? 1 : 0); }
  std::string operator()(const std::string& value) const { return fmt::format("text {}", value.size()); }
  std::string operator()(const SkippedArray& value) const { return fmt::format("array {}", value.count); }
  template <class T>
  std::string operator()(const std::vector<T>& value) const {
    return fmt::format("array {}", value.size());
  }
};

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> piece{};
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe)) out.append(piece.data(), n);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return out;
}

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// As gguf_dump.py prints it. No tensor of these models ends with a dimension of 1, which TensorInfo would not show.
std::string shown(const TensorInfo& tensor) {
  std::string ne;
  std::size_t count = tensor.ne.size();
  while (count > 1 && tensor.ne[count - 1] == 1) --count;
  for (std::size_t i = 0; i < count; ++i) ne += (i > 0 ? "," : "") + std::to_string(tensor.ne[i]);
  return fmt::format("tensor {} {} {} {} {}", tensor.name, tensor.type, ne, tensor.offset, tensor.bytes);
}

Lines seen_by_k3d(const std::filesystem::path& path) {
  Lines lines;
  const auto source = open_file(path);
  const auto file = source ? read_gguf(**source) : std::unexpected(source.error());
  EXPECT_TRUE(file) << path;
  if (!file) return lines;
  for (const auto& [key, value] : file->metadata)
    lines.insert(fmt::format("key {} {}", key, std::visit(Shown{}, value)));
  for (const TensorInfo& tensor : file->tensors) lines.insert(shown(tensor));
  return lines;
}

Lines seen_by_the_library(const std::filesystem::path& path) {
  return lines_of(
      output_of(fmt::format("docker run --rm -i --network none -v {0}:{0}:ro --entrypoint python3 "
                            "k3d-engine-debian:latest - {0} <{1}/tests/unit/planning/gguf_dump.py",
                            path.string(), K3D_SOURCE_DIR)));
}

std::filesystem::path tiny_model(const std::string& arguments) {
  std::string path = output_of(std::string(K3D_SOURCE_DIR "/packaging/engine/make_tiny_model.sh ") + arguments);
  while (!path.empty() && path.back() == '\n') path.pop_back();
  return path;
}

void expect_the_same(const std::filesystem::path& path) {
  const Lines library = seen_by_the_library(path);
  EXPECT_GT(library.size(), 20U);
  EXPECT_EQ(seen_by_k3d(path), library) << path;
}

TEST(GgufOracle, a_whole_file) {
  expect_the_same(tiny_model("/var/tmp/k3d-test/tiny.gguf"));
}

TEST(GgufOracle, quantized_types) {
  expect_the_same(tiny_model("/var/tmp/k3d-test/gguf/mxfp4.gguf --expert-type MXFP4"));
}

TEST(GgufOracle, a_set_whose_first_file_has_no_tensors) {
  const auto first = tiny_model("/var/tmp/k3d-test/gguf/split.gguf --split-max-tensors 60 --small-first-shard");
  expect_the_same(first);
  const auto model = read_model(first);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_GT(model->shards.size(), 3U);
  EXPECT_EQ(model->tensors.front().shard, 1);
  for (const ShardInfo& shard : model->shards) {
    if (shard.name != first.filename())
      EXPECT_EQ(seen_by_k3d(first.parent_path() / shard.name), seen_by_the_library(first.parent_path() / shard.name));
  }
}

}  // namespace
}  // namespace k3d::planning
