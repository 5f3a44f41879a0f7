// Headers that lie: each is an error that names the file and the byte, and costs neither memory nor time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/planning/gguf_builder.hpp"

namespace k3d::planning::test {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kF32 = 0, kQ8 = 8;
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

/// What is said of `content`, also if the file claims to be `size` bytes long.
Error complaint(const std::string& content, Bytes size = 0) {
  MemorySource source(content);
  if (size > 0) source.set_size(size);
  const auto file = read_gguf(source);
  EXPECT_FALSE(file);
  EXPECT_LE(source.bytes_read(), 32 * kMiB);
  return file ? Error{} : file.error();
}

void expect_damaged(const std::string& content, const std::string& words, Bytes size = 0) {
  const Error error = complaint(content, size);
  EXPECT_EQ(error.code, Code::model_corrupt) << error.text();
  EXPECT_THAT(error.message, HasSubstr("m.gguf, byte ")) << error.text();
  EXPECT_THAT(error.message, HasSubstr(words));
  EXPECT_FALSE(error.hint.empty());
}

GgufBuilder head(const std::function<void(GgufBuilder&)>& change) {
  GgufBuilder builder;
  builder.text("general.architecture", "kimi-k3").tensor("a", kF32, {8});
  change(builder);
  return builder;
}

TEST(GgufHostile, heads_that_are_none) {
  expect_damaged("<html>404</html>", "no GGUF file");
  expect_damaged("GGUX" + std::string(100, '\0'), "byte 0: no GGUF file");
  expect_damaged(head([](auto& b) { b.version = 1; }).file(), "byte 4: version 1");
  expect_damaged(head([](auto& b) { b.version = 4; }).file(), "version 4");
  expect_damaged(head([](auto& b) { b.version = 0x03000000; }).file(), "big-endian");
  expect_damaged(head([](auto& b) { b.count_tensors = kHuge; }).file(), "byte 8");
  expect_damaged(head([](auto& b) { b.count_keys = std::uint64_t{1} << 40; }).file(), "byte 16");
}

TEST(GgufHostile, lengths_past_any_reason_are_damage_whatever_the_file_s_size) {
  const auto with = [](auto change) { return head(change).file(); };
  constexpr Bytes size = Bytes{1} << 50;
  GgufBuilder key;
  expect_damaged(key.key("k", GgufType::u8, "\1").header().substr(0, 24) + bytes_of_value(kHuge), "byte 24: a key of",
                 size);
  expect_damaged(with([](auto& b) { b.key("t", GgufType::text, bytes_of_value(kHuge)); }), "a text of", size);
  expect_damaged(with([](auto& b) { b.key("t", GgufType::text, bytes_of_value(5 * kMiB)); }), "a text of", size);
  for (const std::uint64_t count : {kHuge, kHuge / 4, std::uint64_t{1} << 61, std::uint64_t{1} << 28}) {
    const std::string numbers = GgufBuilder::array_head(GgufType::u32, count);
    const std::string texts = GgufBuilder::array_head(GgufType::text, count);
    expect_damaged(with([&](auto& b) { b.key("n", GgufType::array, numbers); }), "elements", size);
    expect_damaged(with([&](auto& b) { b.key("n", GgufType::array, texts); }), "elements", size);
  }
  const std::string short_of_long = GgufBuilder::array_head(GgufType::text, 2) + bytes_of_value(kHuge);
  expect_damaged(with([&](auto& b) { b.key("n", GgufType::array, short_of_long); }), "4 MiB", size);
  const std::string long_of_long = GgufBuilder::array_head(GgufType::text, 2000) + bytes_of_value(kHuge);
  expect_damaged(with([&](auto& b) { b.key("n", GgufType::array, long_of_long); }), "element of", size);
}

TEST(GgufHostile, a_header_without_end_ends) {
  // Empty texts, as far as the file claims to go: just as many as a header could hold if it held nothing else.
  GgufBuilder builder;
  builder.key("n", GgufType::array, GgufBuilder::array_head(GgufType::text, GgufLimits::header / 8));
  MemorySource source(builder.header());
  source.set_size(Bytes{1} << 50);
  EXPECT_THAT(read_gguf(source).error().message, HasSubstr("goes on past 64 MiB"));
  EXPECT_LE(source.bytes_read(), GgufLimits::header + 4 * kMiB);
}

TEST(GgufHostile, types_that_are_none) {
  expect_damaged(head([](auto& b) { b.key("k", static_cast<GgufType>(13), "12345678"); }).file(), "type 13");
  expect_damaged(
      head([](auto& b) { b.key("k", GgufType::array, GgufBuilder::array_head(static_cast<GgufType>(99), 1)); }).file(),
      "elements of type 99");
  expect_damaged(head([](auto& b) {
                   b.key("k", GgufType::array,
                         GgufBuilder::array_head(GgufType::array, 1) + GgufBuilder::array_head(GgufType::u8, 1) + "x");
                 }).file(),
                 "array of arrays");
  for (const std::uint32_t id : {4U, 5U, 31U, 33U, 36U, 38U, 43U, 0xFFFFFFFFU}) {
    expect_damaged(head([&](auto& b) { b.tensor("b", id, {256}); }).file(), "no type of ggml");
  }
}

TEST(GgufHostile, values_that_can_not_be) {
  expect_damaged(head([](auto& b) { b.number("k", GgufType::u64, kHuge); }).file(), "2^63");
  expect_damaged(head([](auto& b) { b.array("k", GgufType::u64, std::vector{kHuge}); }).file(), "2^63");
  for (const std::uint32_t alignment : {0U, 3U, 48U, 0xFFFFFFFFU}) {
    expect_damaged(head([&](auto& b) { b.number("general.alignment", GgufType::u32, alignment); }).file(), "alignment");
  }
  expect_damaged(head([](auto& b) { b.number("general.alignment", GgufType::u64, std::uint64_t{32}); }).file(),
                 "no u32");
  expect_damaged(head([](auto& b) { b.text("general.alignment", "32"); }).file(), "no u32");
  expect_damaged(head([](auto& b) { b.text("general.architecture", "llama"); }).file(), "twice");
  expect_damaged(head([](auto& b) { b.number("new\nline", GgufType::u8, std::uint8_t{1}); }).file(), "printable");
}

TEST(GgufHostile, tensors_that_can_not_be) {
  const auto with = [](auto... arguments) { return head([&](auto& b) { b.tensor(arguments...); }).file(); };
  using Ne = std::vector<std::int64_t>;
  expect_damaged(with("a", kF32, Ne{8}), "tensor a is there twice");
  expect_damaged(with(std::string(64, 'x'), kF32, Ne{8}), "name of 64 bytes");
  expect_damaged(with("b\x1b[2J", kF32, Ne{8}), "printable");
  expect_damaged(with("b", kF32, Ne{1, 1, 1, 1, 1}), "5 dimensions");
  expect_damaged(with("b", kF32, Ne{0}), "dimension of 0");
  expect_damaged(with("b", kF32, Ne{8, -1}), "dimension of -1");
  expect_damaged(with("b", kQ8, Ne{33}), "blocks of 32");
  expect_damaged(with("b", kF32, Ne{1LL << 40, 1LL << 40, 1LL << 40}), "2^63");
  expect_damaged(head([](auto& b) { b.tensor("b", kF32, Ne{1LL << 60}).tensor("c", kF32, Ne{1LL << 60}); }).header(),
                 "the tensors have more than 2^63 bytes");
}

TEST(GgufHostile, tensors_out_of_their_place) {
  using Ne = std::vector<std::int64_t>;
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{31}, std::uint64_t{64}, kHuge, kHuge - 31}) {
    const std::string content = head([&](auto& b) { b.tensor("b", kF32, Ne{8}, offset); }).file();
    expect_damaged(content, "it must be 32");
  }
}

TEST(GgufHostile, a_file_that_ends_early_is_truncated_at_every_byte) {
  GgufBuilder builder;
  builder.text("general.architecture", "kimi-k3").texts("short", {"a", "b"});
  builder.texts("long", std::vector<std::string>(1100, "t"))
      .array("types", GgufType::i32, std::vector<std::int32_t>(1100, 1));
  builder.tensor("a", kF32, {8, 3}).tensor("b", kQ8, {32});
  const std::string content = builder.file();
  ASSERT_TRUE(parse(content));
  for (std::size_t length = 4; length < content.size(); ++length) {
    if (length > 24 && length + 400 < builder.header().size() && length % 7 != 0) continue;
    const std::string cut = content.substr(0, length);
    const auto file = parse(cut);
    if (file) {
      EXPECT_GE(length, content.size() - 32) << "only padding may lack";
      continue;
    }
    EXPECT_EQ(file.error().code, Code::model_truncated) << length << ": " << file.error().text();
    EXPECT_THAT(file.error().message, HasSubstr("m.gguf is cut short: it has " + std::to_string(length) + " bytes"));
    EXPECT_EQ(parse_slowly(cut).error().message, file.error().message);
  }
  EXPECT_EQ(parse("").error().code, Code::model_truncated);
}

TEST(GgufHostile, a_parser_that_is_fed_less_than_it_asked_for_says_so) {
  GgufParser parser("m.gguf", 1000);
  EXPECT_EQ(parser.feed("GGUF").error().code, Code::internal);
}

}  // namespace
}  // namespace k3d::planning::test
