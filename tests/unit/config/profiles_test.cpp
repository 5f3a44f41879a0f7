// extends, references, and the rules between a profile's keys.
#include "config/profiles.hpp"

#include "decoding.hpp"

namespace k3d::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

const std::string kModels = "models: {m: {path: /m.gguf}, r: {repo: a/b, revision: " + std::string(40, 'a') + "}}\n";

TEST(Profiles, extends_replaces_whole_but_merges_env) {
  const Settings settings =
      settings_of(kModels +
                  "profiles:\n"
                  "  a: {model: m, slots: 4, env: {X: \"1\", Y: \"2\"}, extra_args: [--a, --b], "
                  "placement: {mode: n_cpu_moe, layers: 3}}\n"
                  "  b: {extends: a, env: {Y: \"3\", Z: \"4\"}, extra_args: [--c], placement: {}}\n"
                  "  c: {extends: b, slots: null, env: {X: null}}\n"
                  "  d: {extends: c, env: null}\n");
  const Profile &b = settings.profiles[1], &c = settings.profiles[2], &d = settings.profiles[3];
  EXPECT_EQ(b.slots, 4);
  EXPECT_THAT(b.env, ElementsAre(Pair("X", "1"), Pair("Y", "3"), Pair("Z", "4")));
  EXPECT_THAT(b.extra_args, ElementsAre("--c"));
  EXPECT_EQ(b.placement.mode, PlacementMode::fit);
  EXPECT_EQ(c.slots, 8);
  EXPECT_THAT(c.env, ElementsAre(Pair("Y", "3"), Pair("Z", "4")));
  EXPECT_THAT(d.env, IsEmpty());
  EXPECT_EQ(d.model, "m");
}

TEST(Profiles, a_base_may_come_later) {
  const Settings settings =
      settings_of(kModels + "profiles: {b: {extends: a, slots: 2}, a: {model: m, context: 1024, slots: 1}}\n");
  EXPECT_EQ(settings.profiles[0].name, "b");
  EXPECT_EQ(settings.profiles[0].context, 1024);
}

TEST(Profiles, image_and_source_replace_each_other_along_extends) {
  const Settings settings = settings_of(kModels +
                                        "profiles:\n"
                                        "  a: {model: m, source: debian}\n"
                                        "  b: {extends: a, image: \"x:1\"}\n"
                                        "  c: {extends: b, source: mainline}\n"
                                        "  d: {model: m}\n");
  EXPECT_EQ(settings.profiles[1].source, "");
  EXPECT_EQ(settings.profiles[1].image, "x:1");
  EXPECT_EQ(settings.profiles[2].source, "mainline");
  EXPECT_EQ(settings.profiles[2].image, "");
  EXPECT_EQ(settings.profiles[3].source, "fork");
  EXPECT_THAT(mistakes_of(profile_with("image: a\n    source: fork")),
              ElementsAre("6:5: profiles.p.image: a profile has either source or image, not both"));
}

TEST(Profiles, an_inherited_mistake_is_told_once_where_it_was_written) {
  EXPECT_THAT(mistakes_of(kModels + "profiles:\n"
                                    "  a:\n"
                                    "    model: m\n"
                                    "    slots: 300\n"
                                    "  b:\n"
                                    "    extends: a\n"),
              ElementsAre(StartsWith("5:12: profiles.a.slots: 300 is out of range")));
}

TEST(Profiles, unknown_bases) {
  EXPECT_THAT(mistakes_of(kModels + "profiles:\n  batch: {model: m}\n  b:\n    extends: bach\n"),
              ElementsAre("5:14: profiles.b.extends: there is no profile \"bach\"; did you mean \"batch\"?"));
  EXPECT_THAT(mistakes_of("profiles: {b: {extends: zzz}}\n"),
              ElementsAre("1:25: profiles.b.extends: there is no profile \"zzz\"; there are none"));
}

TEST(Profiles, cycles) {
  EXPECT_THAT(mistakes_of("profiles:\n"
                          "  a: {extends: b}\n"
                          "  b: {extends: c}\n"
                          "  c: {extends: a}\n"
                          "  d: {extends: a}\n"),
              ElementsAre("2:16: profiles.a.extends: extends itself: a -> b -> c -> a",
                          "3:16: profiles.b.extends: extends itself: b -> c -> a -> b",
                          "4:16: profiles.c.extends: extends itself: c -> a -> b -> c"));
  EXPECT_THAT(mistakes_of("profiles: {a: {extends: a}}\n"),
              ElementsAre("1:25: profiles.a.extends: extends itself: a -> a"));
}

TEST(Profiles, long_chains) {
  std::string text = kModels + "profiles:\n  p0: {model: m}\n";
  for (int i = 1; i < 17; ++i) text += "  p" + std::to_string(i) + ": {extends: p" + std::to_string(i - 1) + "}\n";
  EXPECT_THAT(mistakes_of(text),
              ElementsAre("19:18: profiles.p16.extends: extends more than 15 profiles one after the other"));
}

TEST(Profiles, references) {
  EXPECT_THAT(mistakes_of("profiles: {p: {model: kimi-k4, quant: q}}\n"),
              ElementsAre("1:23: profiles.p.model: there is no model \"kimi-k4\"; did you mean \"kimi-k3\"?"));
  EXPECT_THAT(mistakes_of(profile_with("source: frok")),
              ElementsAre("6:13: profiles.p.source: there is no source \"frok\"; did you mean \"fork\"?"));
}

TEST(Profiles, quant_goes_with_the_kind_of_model) {
  EXPECT_THAT(mistakes_of(kModels + "profiles:\n  p: {model: r}\n"),
              ElementsAre(StartsWith("3:14: profiles.p.model: the key \"quant\" is missing; model \"r\"")));
  EXPECT_THAT(mistakes_of(profile_with("quant: q")),
              ElementsAre(StartsWith("6:5: profiles.p.quant: model \"m\" is one file and has no quants")));
  EXPECT_THAT(mistakes_of(kModels + "profiles:\n  a: {model: r, quant: q}\n  b: {extends: a, model: m, quant: null}\n"),
              IsEmpty());
}

TEST(Profiles, F91_names) {
  for (const std::string& bad :
       std::vector<std::string>{"../../etc", "a/b", "-x", "a..b", "%2e", "a b", "", std::string(65, 'a'), "\\0"}) {
    EXPECT_THAT(mistakes_of(profile_with("quant: \"" + bad + "\"")),
                testing::Contains(AllOf(StartsWith("6:12: profiles.p.quant: "), HasSubstr("is no name"))))
        << bad;
  }
  EXPECT_THAT(mistakes_of("profiles: {a/b: {model: kimi-k3, quant: q}, none: {model: kimi-k3, quant: q}}\n"),
              ElementsAre("1:12: profiles.a/b: \"a/b\" is no name",
                          "1:45: profiles.none: \"none\" is a word of boot: and can't name a profile"));
  EXPECT_THAT(mistakes_of("instance: a/b\n"), ElementsAre(StartsWith("1:11: instance: \"a/b\" is no name; allowed: ")));
  EXPECT_THAT(mistakes_of("models: {\"../x\": {path: /a}}\n"), ElementsAre(HasSubstr("\"../x\" is no name")));
}

TEST(Profiles, context_for_the_slots) {
  EXPECT_THAT(
      mistakes_of(profile_with("context: 1024")),
      ElementsAre("6:14: profiles.p.context: a context of 1024 is too small for 8 slots; allowed: at least 2048, "
                  "256 a slot"));
  EXPECT_THAT(mistakes_of(profile_with("context: 2048")), IsEmpty());
}

TEST(Profiles, ubatch_within_batch) {
  EXPECT_THAT(mistakes_of(profile_with("ubatch: 1024\n    batch: 512")),
              ElementsAre("6:13: profiles.p.ubatch: a ubatch of 1024 is larger than batch (512); allowed: at most batch"));
}

TEST(Profiles, gpus) {
  EXPECT_EQ(settings_of(profile_with("gpus: none")).profiles[0].gpus.choice, GpuChoice::none);
  EXPECT_THAT(mistakes_of(profile_with("gpus: [0, 0]")), ElementsAre("6:11: profiles.p.gpus: a GPU is there twice"));
  EXPECT_THAT(mistakes_of(profile_with("gpus: some")), ElementsAre(HasSubstr("allowed: all or none or a list")));
  EXPECT_THAT(mistakes_of(profile_with("gpus: [one]")), ElementsAre(HasSubstr("gpus[0]: \"one\" is no UUID of a GPU")));
  EXPECT_THAT(mistakes_of(profile_with("gpus: [0, 1]\n    placement: {fit_target_mib: [1, 2, 3]}")),
              ElementsAre(HasSubstr("fit_target_mib has 3 numbers for 2 GPUs")));
}

TEST(Profiles, aliases_are_of_one_profile_or_handed_on) {
  EXPECT_THAT(mistakes_of(kModels + "profiles:\n  a: {model: m, aliases: [x]}\n  b: {extends: a}\n"), IsEmpty());
  EXPECT_THAT(
      mistakes_of(kModels + "profiles:\n  a: {model: m, aliases: [x, x]}\n  b: {model: m, aliases: [x, a, m, b]}\n"),
      ElementsAre("3:30: profiles.a.aliases[1]: \"x\" is an alias already, of profile a on line 3",
                  "4:27: profiles.b.aliases[0]: \"x\" is an alias already, of profile a on line 3",
                  "4:30: profiles.b.aliases[1]: \"a\" is the name of another profile",
                  HasSubstr("4:33: profiles.b.aliases[2]: \"m\" is "),
                  "4:36: profiles.b.aliases[3]: \"b\" is this profile's own name"));
  EXPECT_THAT(mistakes_of(profile_with("aliases: [\"a,b\"]")),
              ElementsAre(HasSubstr("has a character in it that isn't allowed")));
}

TEST(Profiles, F88_comment_behind_an_env_value) {
  EXPECT_THAT(
      mistakes_of(profile_with("env:\n      A: some # thing\n      B: \"some # thing\"  # why\n      C: some#thing")),
      ElementsAre("7:10: profiles.p.env.A: \"some\" is followed by # on its line, so that nobody can tell where "
                  "it ends; put the value in quotes"));
}

TEST(Profiles, env_names) {
  for (const char* bad : {"LLAMA_ARG_CTX_SIZE", "LLAMA_API_KEY", "LD_PRELOAD", "CUDA_DEVICE_ORDER", "CUDA_CACHE_PATH",
                          "PATH", "CUDA_VISIBLE_DEVICES", "1A", "A-B", "A=B", "\"\""}) {
    EXPECT_THAT(mistakes_of(profile_with("env: {" + std::string(bad) + ": x}")),
                ElementsAre(StartsWith("6:11: profiles.p.env.")))
        << bad;
  }
  EXPECT_THAT(
      mistakes_of(profile_with("env: {A: \"a\\nb\"}")),
      ElementsAre("6:14: profiles.p.env.A: \"a\\x0ab\" has a control character in it; allowed: one line of text"));
  EXPECT_THAT(mistakes_of(profile_with("env: {LLAMA_LOG_PREFIX: x, PATHS: y}")), IsEmpty());
}

TEST(Profiles, F92_extra_args) {
  const Settings settings =
      settings_of(profile_with("extra_args: [\"; rm -rf /\", \"$(id)\", \"--temp=0.7\", \"a 'b' \\\"c\\\"\"]"));
  EXPECT_THAT(settings.profiles[0].extra_args, ElementsAre("; rm -rf /", "$(id)", "--temp=0.7", "a 'b' \"c\""));
  EXPECT_THAT(
      mistakes_of(profile_with("extra_args: [\"a\\nb\", \"a\\0b\", --host=0.0.0.0, --ctx_size, \"\"]")),
      ElementsAre(HasSubstr("6:18: profiles.p.extra_args[0]: \"a\\x0ab\" has a control character"),
                  HasSubstr("extra_args[1]"), HasSubstr("extra_args[2]: \"--host=0.0.0.0\" can't be given here"),
                  HasSubstr("extra_args[3]: \"--ctx_size\" can't be given here: use context"),
                  HasSubstr("extra_args[4]: \"\" is empty")));
  EXPECT_THAT(mistakes_of(profile_with("extra_args: --temp 1")),
              ElementsAre(HasSubstr("allowed: a list, each item one argument")));
}

}  // namespace
}  // namespace k3d::config
