// YAML itself: what it may contain, and its limits.
#include "config/document.hpp"

#include "decoding.hpp"

namespace k3d::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Document, F88_bad_yaml) {
  EXPECT_THAT(mistakes_of("instance: [a\n"), ElementsAre(HasSubstr("not readable as YAML: ")));
  EXPECT_THAT(mistakes_of("a: b: c\n"), ElementsAre(StartsWith("1:5: not readable as YAML: ")));
  EXPECT_THAT(mistakes_of("instance: x\n\tstate: /y\n"), ElementsAre(StartsWith("2:")));
}

TEST(Document, F88_duplicate_keys) {
  EXPECT_THAT(mistakes_of("instance: a\non_exit: stop\ninstance: b\n"),
              ElementsAre("3:1: instance: the key \"instance\" is there twice, first on line 1"));
  EXPECT_THAT(mistakes_of("profiles:\n  p: {model: kimi-k3, quant: a}\n  p: {model: kimi-k3, quant: b}\n"),
              ElementsAre("3:3: profiles.p: the key \"p\" is there twice, first on line 2"));
  EXPECT_THAT(mistakes_of(profile_with("env: {A: x, A: y}")),
              ElementsAre("6:17: profiles.p.env.A: the key \"A\" is there twice, first on line 6"));
}

TEST(Document, merge_keys_are_refused_by_name) {
  EXPECT_THAT(mistakes_of("control: &c {group: a}\nproxy:\n  <<: *c\n"),
              ElementsAre("3:3: proxy.<<: merge keys are not read; a profile can use extends"));
}

TEST(Document, one_document) {
  EXPECT_THAT(mistakes_of("instance: a\n---\ninstance: b\n"),
              ElementsAre("2:1: not readable as YAML: a second document begins here; allowed: one"));
}

TEST(Document, tags_are_refused) {
  EXPECT_THAT(mistakes_of("instance: !!str 7\n"), ElementsAre(HasSubstr("1:11: not readable as YAML: the tag")));
  EXPECT_THAT(mistakes_of("control: !thing {}\n"), ElementsAre(HasSubstr("the tag \"!thing\" is not read")));
}

TEST(Document, aliases_are_followed) {
  const Settings settings = settings_of(
      "control: {allowed_hosts: &h [a.example.com]}\nproxy: {cors_origins: []}\n"
      "models: {a: {path: &p /a.gguf}, b: {path: *p}}\n");
  EXPECT_EQ(settings.models.at("b").path, "/a.gguf");
}

TEST(Document, F88_alias_bomb) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'i'; ++c) {
    const std::string before = "*" + std::string(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += before + ", ";
    bomb += before + "]\n";
  }
  EXPECT_THAT(mistakes_of(bomb), ElementsAre(HasSubstr("too large once its aliases are followed")));
  const std::string huge(100'000, 'x');
  std::string wide = "a: &a " + huge + "\nb: [";
  for (int i = 0; i < 100; ++i) wide += "*a, ";
  EXPECT_THAT(mistakes_of(wide + "*a]\n"), ElementsAre(HasSubstr("too large once its aliases are followed")));
}

TEST(Document, an_alias_inside_its_own_anchor) {
  EXPECT_THAT(mistakes_of("a: &a [*a]\n"),
              ElementsAre("1:8: not readable as YAML: this alias stands inside its own anchor"));
}

TEST(Document, F88_deep_nesting) {
  EXPECT_THAT(mistakes_of("a: " + std::string(100, '[') + std::string(100, ']')),
              ElementsAre(HasSubstr("nested too deeply; allowed: 32 levels")));
  EXPECT_THAT(mistakes_of(std::string(100'000, '[')).size(), 1U);
  EXPECT_THAT(mistakes_of(std::string(100'000, '{')).size(), 1U);
  std::string stairs;
  for (int i = 0; i < 200; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(mistakes_of(stairs), ElementsAre(HasSubstr("nested too deeply")));
  // Depth that comes about only by aliases.
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string n = std::to_string(i);
    chain += "a" + n + ": &a" + n + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_THAT(mistakes_of(chain), ElementsAre(HasSubstr("nested too deeply")));
}

TEST(Document, many_values) {
  std::string list = "a:\n";
  for (int i = 0; i < 30'000; ++i) list += "- x\n";
  EXPECT_THAT(mistakes_of(list), ElementsAre(HasSubstr("too large")));
}

TEST(Document, bytes_that_are_no_text) {
  // yaml-cpp takes 0x04 for the end of the file: what follows would be dropped in silence.
  EXPECT_THAT(mistakes_of("instance: a\n\x04\nboot: last\n"),
              ElementsAre("2:1: the byte \"\\x04\" is no text; allowed: UTF-8"));
  EXPECT_THAT(mistakes_of(std::string("instance: a\0b\n", 14)), ElementsAre(HasSubstr("1:12: the byte \"\\x00\"")));
  EXPECT_THAT(mistakes_of("instance: \xff\n").size(), 1U);
  EXPECT_THAT(mistakes_of("instance: \xc0\xaf\n").size(), 1U);      // overlong
  EXPECT_THAT(mistakes_of("instance: \xed\xa0\x80\n").size(), 1U);  // a surrogate
  EXPECT_EQ(settings_of("# \xe2\x82\xac \xf0\x9f\x98\x80\ninstance: a\n").instance, "a");
}

TEST(Document, empty_values_point_at_their_key) {
  EXPECT_THAT(mistakes_of("profiles:\n  p:\n    model:\n\n\n"),
              ElementsAre(StartsWith("2:3: profiles.p: the key \"model\"")));
}

TEST(Document, keys_are_single_words) {
  EXPECT_THAT(mistakes_of("? [a, b]\n: c\n"), ElementsAre(HasSubstr("a key must be a single word")));
}

TEST(Document, crlf_and_a_byte_order_mark) {
  EXPECT_EQ(settings_of("\xef\xbb\xbfinstance: a\r\non_exit: stop\r\n").on_exit, OnExit::stop);
}

}  // namespace
}  // namespace k3d::config
