// The sections by their tables: types, ranges, choices, what isn't built yet.
#include "config/config.hpp"
#include "decoding.hpp"
#include "settings_text.hpp"

namespace k3d::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Decode, an_empty_file_is_the_defaults) {
  for (const char* nothing : {"", "# only a comment\n", "---\n", "{}\n", "null\n", "control:\nprofiles: ~\n"}) {
    const Settings settings = settings_of(nothing);
    EXPECT_EQ(settings.instance, "default");
    EXPECT_EQ(settings.control.token_file, "/etc/k3d/token");
    EXPECT_EQ(settings.control.group, "");
    EXPECT_EQ(settings.proxy.api_keys_file, "");
    EXPECT_EQ(settings.sources.at("fork").commit, "883f2c9ba78f3847148454adf025da29385fff3e");
    EXPECT_EQ(settings.models.at("kimi-k3").repo, "unsloth/Kimi-K3-GGUF");
    EXPECT_THAT(settings.profiles, IsEmpty());
  }
}

TEST(Decode, every_key_of_a_profile_arrives) {
  const Settings settings = settings_of(
      "profiles:\n"
      "  p:\n"
      "    model: kimi-k3\n"
      "    quant: UD-Q2_K_XL\n"
      "    image: registry.example.com/llama:1.2\n"
      "    gpus: [0, \"GPU-1a2b\"]\n"
      "    placement: {mode: n_cpu_moe, layers: 40, tensor_split: [60, 34.5]}\n"
      "    context: 65536\n"
      "    slots: 4\n"
      "    batch: 4096\n"
      "    ubatch: 2048\n"
      "    env: {GGML_CUDA_DISABLE_GRAPHS: \"1\", A: x#y, B: 0x10, C: \"a # b\"}\n"
      "    extra_args: [--temp, 0.7, \"--chat-template-kwargs\", '{\"a\": 1}']\n"
      "    aliases: [moonshotai/Kimi-K3, k3]\n"
      "    while_loading: hold\n"
      "    hold_seconds: 10\n"
      "    on_request: switch\n"
      "    on_failure: stay_down\n"
      "    drain_seconds: 20\n"
      "    stall_seconds: 30\n"
      "    min_residency_seconds: 40\n"
      "    idle_stop_seconds: 50\n"
      "    self_heal: true\n"
      "    allow_unproven: true\n"
      "    cache_type: q8_0\n"
      "    threads: 32\n"
      "    cache_ram: 8GiB\n"
      "    ctx_checkpoints: 0\n");
  const Profile& p = settings.profiles.at(0);
  EXPECT_EQ(p.source, "");
  EXPECT_EQ(p.image, "registry.example.com/llama:1.2");
  EXPECT_THAT(p.gpus.listed, ElementsAre("0", "GPU-1a2b"));
  EXPECT_EQ(p.placement.n_cpu_moe, 40);
  EXPECT_THAT(p.placement.tensor_split, ElementsAre(60, 34.5));
  EXPECT_EQ(p.context, 65536);
  EXPECT_EQ(p.slots, 4);
  EXPECT_EQ(p.batch, 4096);
  EXPECT_EQ(p.ubatch, 2048);
  EXPECT_THAT(p.env, ElementsAre(testing::Pair("A", "x#y"), testing::Pair("B", "0x10"), testing::Pair("C", "a # b"),
                                 testing::Pair("GGML_CUDA_DISABLE_GRAPHS", "1")));
  EXPECT_THAT(p.extra_args, ElementsAre("--temp", "0.7", "--chat-template-kwargs", "{\"a\": 1}"));
  EXPECT_THAT(p.aliases, ElementsAre("moonshotai/Kimi-K3", "k3"));
  EXPECT_EQ(p.while_loading, WhileLoading::hold);
  EXPECT_EQ(p.hold, seconds(10));
  EXPECT_EQ(p.on_request, OnRequest::switch_over);
  EXPECT_EQ(p.on_failure, OnFailure::stay_down);
  EXPECT_EQ(p.drain, seconds(20));
  EXPECT_EQ(p.stall, seconds(30));
  EXPECT_EQ(p.min_residency, seconds(40));
  EXPECT_EQ(p.idle_stop, seconds(50));
  EXPECT_TRUE(p.self_heal);
  EXPECT_TRUE(p.allow_unproven);
  EXPECT_EQ(p.cache_type, "q8_0");
  EXPECT_EQ(p.threads, 32);
  EXPECT_EQ(p.cache_ram, 8 * kGiB);
  EXPECT_EQ(p.ctx_checkpoints, 0);
}

TEST(Decode, every_mistake_is_told_at_once_in_the_order_of_the_file) {
  EXPECT_THAT(mistakes_of("instance: [a]\n"
                          "on_exit: leaf\n"
                          "control: {token_file: token}\n"
                          "profiles:\n"
                          "  batch:\n"
                          "    model: kimi\n"
                          "    slotz: 4\n"),
              ElementsAre(StartsWith("1:11: instance: a list is not what belongs here; allowed: a name of up to 64"),
                          "2:10: on_exit: \"leaf\" is not known here; allowed: leave, stop; did you mean \"leave\"?",
                          "3:23: control.token_file: \"token\" is relative; allowed: an absolute path without ..",
                          "6:12: profiles.batch.model: there is no model \"kimi\"; did you mean \"kimi-k3\"?",
                          "7:5: profiles.batch.slotz: there is no key \"slotz\" here; did you mean \"slots\"?"));
}

TEST(Decode, unknown_keys_in_every_section) {
  EXPECT_THAT(mistakes_of("instanse: x\n"
                          "control: {tokenfile: /x}\n"
                          "proxy: {exposed: all}\n"
                          "docker: {hosts: x}\n"
                          "hub: {zzz: 1}\n"
                          "sources: {fork: {comit: x}}\n"
                          "models: {kimi-k3: {quant: x}}\n"),
              ElementsAre("1:1: instanse: there is no key \"instanse\" here; did you mean \"instance\"?",
                          HasSubstr("2:11: control.tokenfile: there is no key \"tokenfile\" here; did you mean "
                                    "\"token_file\"?"),
                          HasSubstr("3:9: proxy.exposed"), HasSubstr("4:10: docker.hosts"),
                          "5:7: hub.zzz: there is no key \"zzz\" here; allowed: endpoint, cache, token_file, "
                          "connections, bandwidth, window, ca_file",
                          HasSubstr("did you mean \"commit\"?"), HasSubstr("7:20: models.kimi-k3.quant")));
}

TEST(Decode, numbers_are_plain_and_whole) {
  EXPECT_THAT(mistakes_of(profile_with("slots: \"4\"")),
              ElementsAre("6:12: profiles.p.slots: \"4\" is a text; write the number without quotes"));
  EXPECT_THAT(mistakes_of(profile_with("slots: 08")),
              ElementsAre(HasSubstr("6:12: profiles.p.slots: 08 begins with a zero")));
  EXPECT_THAT(mistakes_of(profile_with("slots: 0x8")), ElementsAre(HasSubstr("the text \"0x8\" is not what belongs")));
  EXPECT_THAT(mistakes_of(profile_with("slots: 4.0")), ElementsAre(HasSubstr("the number 4.0 is not what belongs")));
  EXPECT_THAT(mistakes_of(profile_with("slots: true")), ElementsAre(HasSubstr("the boolean true is not what")));
  EXPECT_THAT(mistakes_of(profile_with("slots: 99999999999999999999")), ElementsAre(HasSubstr("is out of range")));
}

TEST(Decode, numbers_out_of_range) {
  for (const char* line : {"slots: 0", "slots: 257", "slots: -1", "context: 255", "hold_seconds: 0", "drain_seconds: 0",
                           "stall_seconds: -5", "batch: 0", "ubatch: 70000", "threads: 0", "ctx_checkpoints: -1",
                           "hold_seconds: 604801", "gpus: [64]"}) {
    EXPECT_THAT(mistakes_of(profile_with(line)), ElementsAre(HasSubstr("is out of range; allowed: "))) << line;
  }
  EXPECT_THAT(mistakes_of("hub: {connections: 0}\n"),
              ElementsAre("1:20: hub.connections: 0 is out of range; allowed: a whole number from 1 to 64"));
}

TEST(Decode, booleans_are_true_or_false) {
  for (const char* other : {"yes", "on", "True", "\"true\"", "1", "[true]"}) {
    EXPECT_THAT(
        mistakes_of(profile_with("allow_unproven: " + std::string(other))),
        ElementsAre(AllOf(StartsWith("6:21: profiles.p.allow_unproven: "), HasSubstr("allowed: true or false"))))
        << other;
  }
}

TEST(Decode, texts_that_yaml_calls_numbers_or_booleans) {
  EXPECT_THAT(mistakes_of("instance: 7\n"),
              ElementsAre(StartsWith("1:11: instance: the number 7 is no text here (in quotes it would be one)")));
  EXPECT_THAT(mistakes_of("instance: true\n"), ElementsAre(HasSubstr("the boolean true is no text here")));
  EXPECT_EQ(settings_of("instance: \"7\"\n").instance, "7");
}

TEST(Decode, sizes) {
  EXPECT_EQ(settings_of("proxy: {max_body_bytes: 1 GB}\n").proxy.max_body_bytes, 1'000'000'000U);
  EXPECT_EQ(settings_of("proxy: {max_body_bytes: \"1GiB\"}\n").proxy.max_body_bytes, kGiB);
  EXPECT_EQ(settings_of("proxy: {max_body_bytes: 1048576}\n").proxy.max_body_bytes, kMiB);
  for (const char* bad : {"1 Gb", "-1MiB", "much", "[1]", "1e30GiB"}) {
    EXPECT_THAT(mistakes_of("proxy: {max_body_bytes: " + std::string(bad) + "}\n"),
                ElementsAre(StartsWith("1:25: proxy.max_body_bytes: ")))
        << bad;
  }
  EXPECT_THAT(mistakes_of("proxy: {max_body_bytes: 1kB}\n"),
              ElementsAre(HasSubstr("1kB is out of range; allowed: a size")));
}

TEST(Decode, null_is_the_default_of_every_key_but_not_of_an_item) {
  EXPECT_EQ(settings_of("exit_drain_seconds: null\n").exit_drain, seconds(30));
  EXPECT_EQ(settings_of("control: {token_file: ~, listen:}\n").control.listen.size(), 2U);
  EXPECT_THAT(mistakes_of("control: {listen: [null]}\n"),
              ElementsAre(HasSubstr("control.listen[0]: nothing is not what")));
  EXPECT_THAT(mistakes_of("profiles: {p: {model: null}}\n"),
              ElementsAre(StartsWith("1:12: profiles.p: the key \"model\" is missing; allowed: ")));
}

TEST(Decode, lists_have_their_length) {
  EXPECT_THAT(mistakes_of("proxy: {listen: []}\n"),
              ElementsAre("1:17: proxy.listen: a list of 0; allowed: 1 to 16 items"));
  EXPECT_THAT(
      mistakes_of("proxy: {listen: \"auto:8000\"}\n"),
      ElementsAre(HasSubstr("the text \"auto:8000\" is not what belongs here; allowed: a list, each item auto:PORT")));
  EXPECT_THAT(mistakes_of(profile_with("gpus: []")), ElementsAre(HasSubstr("a list of 0")));
}

TEST(Decode, sections_are_maps) {
  EXPECT_THAT(mistakes_of("control: yes\n"), ElementsAre("1:10: control: this must be a map of keys and values"));
  EXPECT_THAT(mistakes_of("- a\n"), ElementsAre("1:1: this must be a map of keys and values"));
  EXPECT_THAT(mistakes_of("profiles: [a]\n"), ElementsAre("1:11: profiles: this must be a map of keys and values"));
  EXPECT_THAT(mistakes_of("models: {a: b}\n"), ElementsAre("1:13: models.a: this must be a map of keys and values"));
}

TEST(Decode, cache_types) {
  for (const char* good : {"f16", "f32", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl"}) {
    EXPECT_EQ(settings_of(profile_with("cache_type: " + std::string(good))).profiles[0].cache_type, good);
  }
  EXPECT_THAT(
      mistakes_of(profile_with("cache_type: q8_1")),
      ElementsAre(AllOf(StartsWith("6:17: profiles.p.cache_type: \"q8_1\" is not known here; allowed: f16, f32"),
                        HasSubstr("did you mean \"q8_0\"?"))));
}

TEST(Decode, placements) {
  const auto placed = [](const char* text) {
    return settings_of(profile_with("placement: " + std::string(text))).profiles.at(0).placement;
  };
  EXPECT_THAT(placed("{mode: fit, fit_target_mib: auto}").fit_target_mib, IsEmpty());
  EXPECT_THAT(placed("{fit_target_mib: 4096}").fit_target_mib, ElementsAre(4096));
  EXPECT_THAT(placed("{mode: fit, fit_target_mib: [5632, 10240]}").fit_target_mib, ElementsAre(5632, 10240));
  EXPECT_EQ(placed("{mode: n_cpu_moe, layers: 0, tensor_split: auto}").n_cpu_moe, 0);
  EXPECT_EQ(placed("{mode: n_cpu_moe, layers: auto}").mode, PlacementMode::n_cpu_moe);
  EXPECT_EQ(placed("{mode: n_cpu_moe, layers: auto}").n_cpu_moe, std::nullopt);
  EXPECT_EQ(placed("{mode: pinned}").mode, PlacementMode::pinned);
  EXPECT_THAT(placed("{mode: override, tensors: [\"blk\\\\.(1|2)\\\\.ffn_.*_exps=CPU\"]}").tensors,
              ElementsAre("blk\\.(1|2)\\.ffn_.*_exps=CPU"));
}

TEST(Decode, mistakes_of_placements) {
  const auto mistakes = [](const char* text) { return mistakes_of(profile_with("placement: " + std::string(text))); };
  EXPECT_THAT(mistakes("{mode: pinned, layers: 3}"),
              ElementsAre("6:31: profiles.p.placement.layers: \"layers\" belongs to mode n_cpu_moe"));
  EXPECT_THAT(mistakes("{mode: n_cpu_moe, layers: few}"),
              ElementsAre(HasSubstr("allowed: auto or a whole number from 0 to 1024")));
  EXPECT_THAT(mistakes("{mode: n_cpu_moe}"),
              ElementsAre(StartsWith("6:5: profiles.p.placement: the key \"layers\" is missing")));
  EXPECT_THAT(mistakes("{mode: fit, layers: 3}"),
              ElementsAre("6:28: profiles.p.placement.layers: \"layers\" belongs to mode n_cpu_moe"));
  EXPECT_THAT(mistakes("{mode: fit, fit_targt_mib: 3}"), ElementsAre(HasSubstr("did you mean \"fit_target_mib\"?")));
  EXPECT_THAT(mistakes("{mode: fitt}"), ElementsAre(HasSubstr("did you mean \"fit\"?")));
  EXPECT_THAT(mistakes("{mode: override}"), ElementsAre(HasSubstr("the key \"tensors\" is missing")));
  EXPECT_THAT(
      mistakes("{mode: override, tensors: [\"a\", \"(=CPU\", \"a{1,2}=CPU\", \"=CPU\", \"a=C PU\"]}"),
      ElementsAre(HasSubstr("tensors[0]: \"a\" has no REGEX=DEVICE"), HasSubstr("has no regular expression"),
                  HasSubstr("has a comma in it"), HasSubstr("has no REGEX=DEVICE"), HasSubstr("has a device behind")));
  EXPECT_THAT(mistakes("{mode: override, tensors: [\"((a{50}){50}){50}=CPU\"]}"),
              ElementsAre(HasSubstr("has more than one {N} in it")));
  EXPECT_THAT(mistakes("{mode: n_cpu_moe, layers: 1, tensor_split: [0, 0]}"),
              ElementsAre(HasSubstr("gives nothing to any GPU")));
  EXPECT_THAT(mistakes("{mode: n_cpu_moe, layers: 1, tensor_split: [-1, .inf]}"),
              ElementsAre(HasSubstr("tensor_split[0]: -1 is out of range"), HasSubstr("tensor_split[1]")));
  EXPECT_THAT(mistakes("fit"), ElementsAre("6:16: profiles.p.placement: this must be a map of keys and values"));
}

TEST(Decode, what_is_not_built_yet_is_refused_by_name) {
  EXPECT_THAT(mistakes_of("hub: {bandwidth: 100MB, window: \"01:00-05:00\"}\n"),
              ElementsAre(HasSubstr("1:18: hub.bandwidth: not yet: "), HasSubstr("1:33: hub.window: not yet: ")));
}

TEST(Decode, defaults_of_what_is_not_built_yet_are_taken) {
  EXPECT_THAT(mistakes_of("hub: {bandwidth: null, window: null}\n"), IsEmpty());
}

TEST(Decode, what_is_started_after_a_boot) {
  EXPECT_EQ(settings_of("boot: none\n").boot.choice, Boot::Choice::none);
  EXPECT_EQ(settings_of("boot: last\n").boot.choice, Boot::Choice::last);
  const Settings settings = settings_of("boot: p\n" + profile_with("slots: 1"));
  EXPECT_EQ(settings.boot.choice, Boot::Choice::profile);
  EXPECT_EQ(settings.boot.profile, "p");
}

TEST(Decode, boot_names_a_profile_that_there_is) {
  EXPECT_THAT(mistakes_of("boot: batch\n" + profile_with("slots: 1")),
              ElementsAre("1:7: boot: there is no profile \"batch\"; allowed: none, last, p"));
  EXPECT_THAT(mistakes_of("boot: lats\n"),
              ElementsAre("1:7: boot: there is no profile \"lats\"; did you mean \"last\"?"));
  EXPECT_THAT(mistakes_of("boot: a/b\n"), ElementsAre(StartsWith("1:7: boot: \"a/b\" is no name; allowed: none or")));
  EXPECT_THAT(mistakes_of("boot: [p]\n" + profile_with("slots: 1")), ElementsAre(StartsWith("1:7: boot: a list is ")));
  EXPECT_THAT(mistakes_of("boot: p\n" + profile_with("slots: 0")), ElementsAre(HasSubstr("profiles.p.slots")));
}

TEST(Decode, numbers_of_residency_and_idleness) {
  EXPECT_EQ(settings_of(profile_with("idle_stop_seconds: null")).profiles[0].idle_stop, std::nullopt);
  EXPECT_EQ(settings_of(profile_with("min_residency_seconds: 0")).profiles[0].min_residency, seconds(0));
  EXPECT_THAT(mistakes_of(profile_with("idle_stop_seconds: 0")), ElementsAre(HasSubstr("is out of range")));
  EXPECT_THAT(mistakes_of(profile_with("min_residency_seconds: -1")), ElementsAre(HasSubstr("is out of range")));
}

std::string with_draft(const std::string& speculative, const std::string& more = "") {
  const std::string models = "  draft: {path: /srv/draft.gguf}\n  hub: {repo: a/b, revision: " + std::string(40, '0') + "}\n";
  std::string text = profile_with("speculative: " + speculative + more);
  return text.insert(text.find('\n') + 1, models);
}

TEST(Decode, drafts_by_a_model_or_without_one) {
  const auto draft = [](const char* text) { return settings_of(with_draft(text)).profiles.at(0).speculative; };
  const Speculative by_model{"draft-dspark", "draft", "last", 7};
  EXPECT_EQ(draft("{type: draft-dspark, model: draft}"), by_model);
  EXPECT_EQ(draft("{type: draft-dspark, model: draft, device: last, n_max: 7}"), by_model);
  EXPECT_EQ(draft("{type: draft-simple, model: draft, device: 3, n_max: 2}"),
            (Speculative{"draft-simple", "draft", "3", 2}));
  EXPECT_EQ(draft("{type: draft-simple, model: draft, device: CUDA7}")->device, "CUDA7");
  EXPECT_EQ(draft("{type: ngram-mod, n_max: 16}"), (Speculative{"ngram-mod", "", "last", 16}));
  EXPECT_EQ(draft("{type: draft-mtp}")->model, "");
  EXPECT_EQ(draft("null"), std::nullopt);
}

TEST(Decode, mistakes_of_drafts) {
  EXPECT_THAT(mistakes_of(with_draft("{type: draft-dsparc, model: drift, n_max: 0, devise: last}")),
              ElementsAre(HasSubstr("did you mean \"draft-dspark\"?"), HasSubstr("there is no model \"drift\""),
                          HasSubstr("n_max: 0 is out of range"), HasSubstr("did you mean \"device\"?")));
  EXPECT_THAT(mistakes_of(with_draft("{type: draft-dspark}")),
              ElementsAre(HasSubstr("profiles.p.speculative: the key \"model\" is missing")));
  EXPECT_THAT(mistakes_of(with_draft("{type: ngram-mod, model: draft, device: 1}")),
              ElementsAre(HasSubstr("ngram-mod drafts without a model; leave model out"), HasSubstr("leave device out")));
  EXPECT_THAT(mistakes_of(with_draft("{type: draft-dspark, model: hub}")), ElementsAre(HasSubstr("hub\" has no path")));
  EXPECT_THAT(mistakes_of(with_draft("{type: draft-dspark, model: draft, device: 2}", "\n    gpus: [0, 1]")),
              ElementsAre(HasSubstr("GPU 2 is none of gpus")));
  EXPECT_THAT(mistakes_of(with_draft("{}")), ElementsAre(HasSubstr("the key \"type\" is missing")));
  EXPECT_THAT(mistakes_of(with_draft("draft")), ElementsAre(HasSubstr("this must be a map")));
}

TEST(Decode, the_engine_is_asked_beforehand_if_the_profile_says_so) {
  EXPECT_EQ(settings_of(profile_with("preflight: exact")).profiles[0].preflight, Preflight::exact);
  EXPECT_EQ(settings_of(profile_with("preflight: computed")).profiles[0].preflight, Preflight::computed);
  EXPECT_THAT(mistakes_of(profile_with("preflight: exactly")), ElementsAre(HasSubstr("did you mean \"exact\"?")));
}

TEST(Decode, the_demo_decodes) {
  const Settings settings = settings_of(read_all(K3D_SOURCE_DIR "/config/demo.yaml"));
  ASSERT_EQ(settings.profiles.size(), 2U);
  EXPECT_EQ(image_tag(settings, settings.profiles[0]), "k3d-engine-debian:latest");
  EXPECT_EQ(settings.profiles[1].slots, 1);
  EXPECT_EQ(settings.profiles[1].context, 2048);
  EXPECT_EQ(settings.profiles[1].gpus.choice, GpuChoice::none);
}

}  // namespace
}  // namespace k3d::config
