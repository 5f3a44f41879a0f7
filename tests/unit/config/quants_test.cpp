// The quant catalogue: what is built in, what a file changes of it, and its mistakes.
#include "config/quants.hpp"

#include "decoding.hpp"

namespace k3d::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string with(const std::string& lines) {
  return "quants:\n  kimi-k3:\n    UD-IQ2_XXS:\n" + lines;
}

TEST(Quants, what_is_built_in_has_an_origin_for_each_value) {
  const auto& quants = builtin_quants().at("kimi-k3");
  EXPECT_GE(quants.size(), 10U);
  const QuantEntry standard;
  for (const auto& [name, quant] : quants) {
    const auto expect_origin = [&](bool set, const std::string& key) {
      EXPECT_EQ(quant.origins.contains(key), set) << name << " " << key;
    };
    expect_origin(quant.total_bytes > 0, "total_bytes");
    expect_origin(quant.shards > 0, "shards");
    expect_origin(!quant.experts.empty(), "experts");
    expect_origin(!quant.blocked.empty(), "blocked");
    expect_origin(!quant.broken_types.empty(), "broken_types");
    expect_origin(!quant.proven_on.empty(), "proven_on");
    expect_origin(!quant.quality.empty(), "quality");
    expect_origin(!quant.speed.empty(), "speed");
    EXPECT_EQ(quant.speed.empty(), quant.measured_on.empty()) << name;
    EXPECT_FALSE(quant == standard) << name;
  }
  EXPECT_EQ(quants.at("UD-IQ2_XXS").total_bytes, 711'067'773'664U);
  EXPECT_EQ(quants.at("UD-IQ2_XXS").experts.at("IQ1_M"), 173);
  EXPECT_FALSE(quants.at("UD-TQ2_0").blocked.empty());
  EXPECT_EQ(settings_of("").quants, builtin_quants());
}

TEST(Quants, a_file_overrides_key_by_key) {
  const Settings settings = settings_of(with("      proven_on: [NVIDIA H200]\n      shards: 17\n") +
                                        "    UD-TQ2_0: {blocked: \"\"}\n    mine: {total_bytes: 5 GB}\n");
  const auto& quants = settings.quants.at("kimi-k3");
  EXPECT_THAT(quants.at("UD-IQ2_XXS").proven_on, ElementsAre("NVIDIA H200"));
  EXPECT_EQ(quants.at("UD-IQ2_XXS").shards, 17);
  EXPECT_EQ(quants.at("UD-IQ2_XXS").total_bytes, 711'067'773'664U);
  EXPECT_EQ(quants.at("UD-TQ2_0").blocked, "");
  EXPECT_THAT(quants.at("UD-TQ2_0").broken_types, ElementsAre("TQ2_0"));
  EXPECT_EQ(quants.at("mine").total_bytes, 5'000'000'000U);
}

TEST(Quants, models_of_the_file_have_quants_too) {
  const Settings settings = settings_of(
      "models:\n  other: {repo: a/b, revision: a0836360ce58dfec088d966a97f2ddc8a606279b}\n"
      "quants:\n  other:\n    Q4_K_M: {experts: {Q4_K: 12}}\n");
  EXPECT_EQ(settings.quants.at("other").at("Q4_K_M").experts.at("Q4_K"), 12);
  EXPECT_EQ(settings.quants.at("kimi-k3"), builtin_quants().at("kimi-k3"));
}

TEST(Quants, mistakes_are_told_where_they_stand) {
  EXPECT_THAT(mistakes_of("quants:\n  kimi-k4: {}\n"),
              ElementsAre(HasSubstr("2:3: quants.kimi-k4: there is no model \"kimi-k4\"; did you mean \"kimi-k3\"?")));
  EXPECT_THAT(mistakes_of(with("      shard: 3\n")),
              ElementsAre(HasSubstr("4:7: quants.kimi-k3.UD-IQ2_XXS.shard: there is no key \"shard\"")));
  EXPECT_THAT(mistakes_of(with("      shards: -1\n")),
              ElementsAre(HasSubstr("4:15: quants.kimi-k3.UD-IQ2_XXS.shards")));
  EXPECT_THAT(mistakes_of(with("      experts: {iq2: 1}\n")), ElementsAre(HasSubstr("4:17: ")));
  EXPECT_THAT(mistakes_of(with("      experts: {IQ2_XXS: 0}\n")), ElementsAre(HasSubstr("out of range")));
  EXPECT_THAT(mistakes_of(with("      quality: {top1: 3}\n")), ElementsAre(HasSubstr("did you mean \"top1_percent\"")));
  EXPECT_THAT(mistakes_of(with("      speed: {load_seconds: -3}\n")), ElementsAre(HasSubstr("out of range")));
  EXPECT_THAT(mistakes_of(with("      origins: {size: x}\n")), ElementsAre(HasSubstr("is no key of a quant")));
  EXPECT_THAT(mistakes_of(with("      revision: main\n")), ElementsAre(HasSubstr("40 lower-case")));
  EXPECT_THAT(mistakes_of(with("      proven_on: NVIDIA H200\n")), ElementsAre(HasSubstr("a list")));
  EXPECT_THAT(mistakes_of("quants: [a]\n"), ElementsAre(HasSubstr("must be a map")));
  EXPECT_THAT(mistakes_of("quants:\n  kimi-k3: 3\n"), ElementsAre(HasSubstr("2:12: ")));
  EXPECT_THAT(mistakes_of("quants:\n  kimi-k3: null\n"), IsEmpty());
}

TEST(Quants, documented_defaults_are_the_real_ones) {
  std::string written;
  for (const Field<QuantEntry>& field : quant_fields()) {
    written += "      " + field.info.key + ": " + field.info.default_text + "\n";
  }
  const Settings settings = settings_of("quants:\n  kimi-k3:\n    new:\n" + written);
  EXPECT_EQ(settings.quants.at("kimi-k3").at("new"), QuantEntry{});
}

}  // namespace
}  // namespace k3d::config
