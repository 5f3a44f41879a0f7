// A file with random damage is an error or a model whose tensors lie within it; read whole or in pieces, the same.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/planning/gguf_builder.hpp"

namespace k3d::planning::test {
namespace {

std::string sound_file() {
  GgufBuilder builder;
  builder.text("general.architecture", "kimi-k3").number("general.alignment", GgufType::u32, std::uint32_t{32});
  builder.number("kimi-k3.block_count", GgufType::u32, std::uint32_t{93}).split(0, 1, 3);
  builder.array<std::int32_t>("heads", GgufType::i32, {0, 0, 1}).texts("tags", {"a", "bc"});
  builder.texts("tokens", std::vector<std::string>(1030, "x"));
  builder.tensor("a", 0, {8, 3}).tensor("b", 8, {64, 2}).tensor("c", 16, {256, 2, 2});
  return builder.file();
}

constexpr std::size_t kHeadBytes = 600;  ///< up to the tokens; the tensors are at the end

std::string mutated(std::string content, std::mt19937_64& random) {
  constexpr std::array<unsigned char, 6> favourites = {0x00, 0x01, 0x7F, 0x80, 0xFF, 0x20};
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t front = random() % kHeadBytes, back = content.size() - 1 - random() % 900;
    const std::size_t at = random() % 2 == 0 ? front : back;
    const std::size_t length = random() % 3 == 0 ? 8 : 1;
    const auto byte =
        random() % 2 == 0 ? favourites[random() % favourites.size()] : static_cast<unsigned char>(random());
    for (std::size_t k = at; k < std::min(at + length, content.size()); ++k) content[k] = static_cast<char>(byte);
  }
  if (random() % 10 == 0) content.resize(random() % content.size());
  return content;
}

void expect_sound(const GgufFile& file, std::size_t size) {
  Bytes end = file.info.header_bytes;
  for (const TensorInfo& tensor : file.tensors) {
    ASSERT_GE(tensor.offset, end);
    end = tensor.offset + tensor.bytes;
  }
  ASSERT_LE(file.tensors.empty() ? 0 : end, size);
}

TEST(GgufMutations, damage_is_found_or_harmless) {
  const std::string sound = sound_file();
  ASSERT_TRUE(parse(sound));
  std::mt19937_64 random(20'261'130);
  int refused = 0;
  for (int round = 0; round < 6'000; ++round) {
    const std::string content = mutated(sound, random);
    const auto file = parse(content);
    const auto slow = parse_slowly(content);
    ASSERT_EQ(file.has_value(), slow.has_value()) << round;
    if (file) {
      expect_sound(*file, content.size());
      continue;
    }
    ++refused;
    ASSERT_EQ(file.error().text(), slow.error().text()) << round;
    ASSERT_TRUE(file.error().code == Code::model_corrupt || file.error().code == Code::model_truncated) << round;
  }
  EXPECT_GT(refused, 3'000);
  EXPECT_LT(refused, 6'000);
}

}  // namespace
}  // namespace k3d::planning::test
