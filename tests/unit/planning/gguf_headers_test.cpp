// Headers that are right: every type of value, in pieces of any size, with few reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/planning/gguf_builder.hpp"

namespace k3d::planning::test {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t kF32 = 0, kQ8 = 8, kIq2Xxs = 16;

GgufBuilder with_every_type() {
  GgufBuilder builder;
  builder.number("u8", GgufType::u8, std::uint8_t{255}).number("i8", GgufType::i8, std::int8_t{-1});
  builder.number("u16", GgufType::u16, std::uint16_t{65535}).number("i16", GgufType::i16, std::int16_t{-2});
  builder.number("u32", GgufType::u32, std::uint32_t{4294967295}).number("i32", GgufType::i32, std::int32_t{-3});
  builder.number("u64", GgufType::u64, std::uint64_t{1} << 62).number("i64", GgufType::i64, std::int64_t{-4});
  builder.number("f32", GgufType::f32, 0.5F).number("f64", GgufType::f64, 1e-5);
  builder.number("yes", GgufType::boolean, std::uint8_t{1}).number("no", GgufType::boolean, std::uint8_t{0});
  builder.text("text", "a\n\xF0\x9F\x98\x80").text("empty", "");
  builder.array<std::int32_t>("heads", GgufType::i32, {0, 0, 0, 1});
  builder.array<float>("scores", GgufType::f32, {0.5F, -1});
  builder.array<std::uint8_t>("flags", GgufType::boolean, {1, 0, 1});
  builder.array<std::uint64_t>("none", GgufType::u64, {});
  builder.texts("tags", {"moe", ""});
  return builder;
}

TEST(GgufHeaders, every_type_of_value_arrives) {
  const auto file = parse(with_every_type().file());
  ASSERT_TRUE(file) << file.error().text();
  const ModelHeaders headers{file->metadata, {}, {}};
  const std::vector<std::pair<std::string, std::int64_t>> whole = {
      {"u8", 255},         {"i8", -1},  {"u16", 65535},     {"i16", -2},
      {"u32", 4294967295}, {"i32", -3}, {"u64", 1LL << 62}, {"i64", -4}};
  for (const auto& [key, value] : whole) EXPECT_EQ(headers.integer(key), value) << key;
  EXPECT_EQ(headers.number("f32"), 0.5);
  EXPECT_EQ(headers.number("f64"), 1e-5);
  EXPECT_EQ(std::get<bool>(headers.metadata.at("yes")), true);
  EXPECT_EQ(std::get<bool>(headers.metadata.at("no")), false);
  EXPECT_EQ(headers.text("text"), "a\n\xF0\x9F\x98\x80");
  EXPECT_EQ(headers.text("empty"), "");
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(headers.metadata.at("heads")), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(std::get<std::vector<double>>(headers.metadata.at("scores")), ElementsAre(0.5, -1));
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(headers.metadata.at("flags")), ElementsAre(1, 0, 1));
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(headers.metadata.at("none")), ElementsAre());
  EXPECT_THAT(std::get<std::vector<std::string>>(headers.metadata.at("tags")), ElementsAre("moe", ""));
}

TEST(GgufHeaders, tensors_lie_where_the_file_has_them) {
  GgufBuilder builder;
  builder.tensor("a.weight", kF32, {3}).tensor("b.weight", kQ8, {64, 2}).tensor("c.weight", kIq2Xxs, {256, 3, 5});
  const std::string content = builder.file();
  const auto file = parse(content);
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_EQ(file->tensors.size(), 3U);
  const Bytes begin = (builder.header().size() + 31) / 32 * 32;
  EXPECT_EQ(file->info.header_bytes, begin);
  EXPECT_EQ(file->info.file_bytes, content.size());
  EXPECT_EQ(file->tensors[0].offset, begin);
  EXPECT_EQ(file->tensors[0].bytes, 12U);
  EXPECT_EQ(file->tensors[1].offset, begin + 32);
  EXPECT_EQ(file->tensors[1].bytes, 136U);
  EXPECT_EQ(file->tensors[2].offset, begin + 32 + 160);
  EXPECT_EQ(file->tensors[2].bytes, 66U * 15);
  EXPECT_EQ(file->tensors[2].name, "c.weight");
  EXPECT_THAT(file->tensors[2].ne, ElementsAre(256, 3, 5, 1));
}

TEST(GgufHeaders, another_alignment_and_version_2_count) {
  GgufBuilder builder;
  builder.version = 2;
  builder.alignment = 256;
  builder.number("general.alignment", GgufType::u32, std::uint32_t{256}).tensor("a", kF32, {1}).tensor("b", kF32, {1});
  const auto file = parse(builder.file());
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->info.header_bytes % 256, 0U);
  EXPECT_EQ(file->tensors[1].offset, file->info.header_bytes + 256);
}

TEST(GgufHeaders, the_last_tensor_needs_no_padding_behind_it) {
  GgufBuilder builder;
  builder.tensor("a", kF32, {1});
  std::string content = builder.file();
  content.resize(content.size() - 28);
  EXPECT_TRUE(parse(content));
  content.pop_back();
  EXPECT_EQ(parse(content).error().code, Code::model_truncated);
}

TEST(GgufHeaders, a_file_of_metadata_alone_ends_with_its_header) {
  GgufBuilder builder;
  builder.text("general.architecture", "kimi-k3");
  const auto file = parse(builder.file());
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->info.header_bytes, builder.header().size());
}

std::vector<std::string> vocabulary(std::size_t count) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back("token " + std::to_string(i));
  return tokens;
}

TEST(GgufHeaders, a_long_array_is_counted_and_what_comes_after_it_is_read) {
  GgufBuilder builder;
  builder.texts("tokenizer.ggml.tokens", vocabulary(1025)).texts("short", vocabulary(1024));
  builder.array("types", GgufType::i32, std::vector<std::int32_t>(2000, 1))
      .text("after", "here")
      .tensor("a", kF32, {1});
  const auto file = parse(builder.file());
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(std::get<SkippedArray>(file->metadata.at("tokenizer.ggml.tokens")).count, 1025U);
  EXPECT_EQ(std::get<SkippedArray>(file->metadata.at("types")).count, 2000U);
  EXPECT_EQ(std::get<std::vector<std::string>>(file->metadata.at("short")).size(), 1024U);
  EXPECT_EQ(std::get<std::string>(file->metadata.at("after")), "here");
  EXPECT_EQ(file->tensors.size(), 1U);
}

TEST(GgufHeaders, it_does_not_matter_how_the_bytes_come) {
  GgufBuilder builder = with_every_type();
  builder.texts("tokens", vocabulary(3000)).array("types", GgufType::i32, std::vector<std::int32_t>(3000, 1));
  builder.tensor("a", kQ8, {64, 2}).tensor("b", kF32, {7});
  const std::string content = builder.file();
  const auto whole = parse(content);
  const auto pieces = parse_slowly(content);
  ASSERT_TRUE(whole && pieces);
  EXPECT_EQ(pieces->metadata.size(), whole->metadata.size());
  EXPECT_EQ(pieces->info.header_bytes, whole->info.header_bytes);
  ASSERT_EQ(pieces->tensors.size(), 2U);
  EXPECT_EQ(pieces->tensors[1].offset, whole->tensors[1].offset);
}

TEST(GgufHeaders, a_kept_array_is_asked_for_in_one_piece) {
  GgufBuilder builder;
  builder.array("heads", GgufType::i32, std::vector<std::int32_t>(1000, 1));
  const std::string content = builder.file();
  GgufParser parser("m.gguf", content.size());
  int asked = 0;
  for (; const auto need = parser.need(); ++asked) ASSERT_TRUE(parser.feed(content.substr(need->offset, need->least)));
  EXPECT_LT(asked, 10);
}

TEST(GgufHeaders, reads_are_few_and_skip_what_is_only_numbers) {
  GgufBuilder builder;
  builder.texts("tokens", vocabulary(163'840));
  builder.array("types", GgufType::i32, std::vector<std::int32_t>(4'000'000, 1)).tensor("a", kF32, {1});
  const std::string content = builder.file();
  MemorySource source(content);
  ASSERT_TRUE(read_gguf(source));
  EXPECT_LE(source.reads(), 4);
  EXPECT_LT(source.bytes_read(), content.size() / 2);
}

}  // namespace
}  // namespace k3d::planning::test
