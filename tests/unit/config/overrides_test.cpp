// Overrides: what may be set beside the configuration, read and checked like the configuration.
#include "config/overrides.hpp"

#include "config/document.hpp"
#include "config/reporter.hpp"
#include "decoding.hpp"
#include "settings_text.hpp"

namespace k3d::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Profile profile_of(const std::string& line = "slots: 4") {
  return settings_of(profile_with(line)).profiles.at(0);
}

Profile changed(const Overrides& set, const Profile& profile = profile_of()) {
  const Result<Profile> out = with_overrides(profile, set);
  EXPECT_TRUE(out) << out.error().text();
  return out.value_or(Profile{});
}

std::string refused(const Overrides& set, const Profile& profile = profile_of()) {
  const Result<Profile> out = with_overrides(profile, set);
  if (out) return "taken";
  EXPECT_EQ(out.error().code, Code::invalid_request);
  return out.error().text();
}

std::string text_of(const Profile& profile) {
  Settings settings;
  settings.profiles.push_back(profile);
  return settings_text(settings);
}

TEST(Overrides, none_change_nothing) {
  const Profile profile = profile_of("placement: {mode: n_cpu_moe, layers: 4}");
  EXPECT_EQ(text_of(changed({}, profile)), text_of(profile));
}

TEST(Overrides, each_key_arrives_and_nothing_else_changes) {
  const Profile before = profile_of();
  Profile wanted = before;
  wanted.context = 65536;
  wanted.slots = 2;
  wanted.batch = 1024;
  wanted.ubatch = 512;
  wanted.placement.fit_target_mib = {8192};
  wanted.cache_type = "q8_0";
  wanted.cache_ram = 8 * kGiB;
  wanted.ctx_checkpoints = 0;
  wanted.threads = 16;
  EXPECT_EQ(text_of(changed({{"context", "65536"},
                             {"slots", "2"},
                             {"batch", "1024"},
                             {"ubatch", "512"},
                             {"fit_target_mib", "8192"},
                             {"cache_type", "q8_0"},
                             {"cache_ram", "8GiB"},
                             {"ctx_checkpoints", "0"},
                             {"threads", "16"}},
                            before)),
            text_of(wanted));
}

TEST(Overrides, values_are_written_as_in_yaml) {
  const Profile profile = profile_of("ubatch: 512\n    placement: {fit_target_mib: [1, 2]}");
  EXPECT_EQ(changed({{"ubatch", "auto"}}, profile).ubatch, std::nullopt);
  EXPECT_THAT(changed({{"fit_target_mib", "[5632, 10240]"}}, profile).placement.fit_target_mib,
              ElementsAre(5632, 10240));
  EXPECT_THAT(changed({{"fit_target_mib", "4096"}}, profile).placement.fit_target_mib, ElementsAre(4096));
  EXPECT_THAT(changed({{"fit_target_mib", "auto"}}, profile).placement.fit_target_mib, IsEmpty());
  EXPECT_EQ(changed({{"slots", " 3 # three"}}, profile).slots, 3);
}

TEST(Overrides, what_names_files_images_devices_or_arguments_is_refused) {
  for (const char* key : {"model", "quant", "source", "image", "gpus", "placement", "env", "extra_args", "aliases",
                          "self_heal", "allow_unproven", "ubatsch", "", "placement.fit_target_mib"}) {
    EXPECT_EQ(refused({{key, "1"}}), "there is no override \"" + std::string(key) +
                                         "\" (allowed are context, slots, batch, ubatch, fit_target_mib, cache_type, "
                                         "cache_ram, ctx_checkpoints, threads)");
  }
}

TEST(Overrides, mistakes_name_the_key_and_what_is_allowed) {
  EXPECT_EQ(refused({{"slots", "0"}}), "slots: 0 is out of range; allowed: a whole number from 1 to 256");
  EXPECT_EQ(refused({{"ubatch", "70000"}}),
            "ubatch: 70000 is out of range; allowed: auto or a whole number from 1 to 65536");
  EXPECT_THAT(refused({{"cache_type", "q8_1"}}), HasSubstr("cache_type: \"q8_1\" is not known here; allowed: f16"));
  EXPECT_THAT(refused({{"cache_ram", "much"}}), HasSubstr("cache_ram: the text \"much\" is not what belongs here"));
  EXPECT_THAT(refused({{"context", "\"4096\""}}), HasSubstr("context: \"4096\" is a text"));
  EXPECT_THAT(refused({{"fit_target_mib", "[1, x]"}}), HasSubstr("fit_target_mib[1]: the text \"x\" is not what"));
  for (const char* nothing : {"", "  ", "null", "~", "# 4"}) {
    EXPECT_THAT(refused({{"slots", nothing}}), HasSubstr("slots: nothing is not what belongs here")) << nothing;
  }
}

TEST(Overrides, a_value_can_bring_no_more_than_itself) {
  EXPECT_THAT(refused({{"slots", "1\nimage: x"}}), HasSubstr("slots: "));
  EXPECT_THAT(refused({{"slots", "{a: 1}"}}), HasSubstr("slots: a map is not what belongs here"));
  EXPECT_THAT(refused({{"slots", "[1]"}}), HasSubstr("slots: a list is not what belongs here"));
  EXPECT_THAT(refused({{"slots", "1\n---\n2"}}), HasSubstr("slots: "));
  EXPECT_THAT(refused({{"slots", "!!int 1"}}), HasSubstr("slots: "));
  EXPECT_THAT(refused({{"slots", std::string(300, ' ') + "1"}}), HasSubstr("slots: the value is longer than 256"));
  EXPECT_THAT(refused({{"slots", "[1"}}), HasSubstr("slots: not readable as YAML"));
}

TEST(Overrides, rules_between_keys_hold_against_what_the_profile_has) {
  const Profile profile = profile_of("batch: 1024\n    ubatch: 512\n    context: 4096\n    slots: 4");
  EXPECT_EQ(refused({{"ubatch", "2048"}}, profile),
            "ubatch: a ubatch of 2048 is larger than batch (1024); allowed: at most batch");
  EXPECT_EQ(refused({{"batch", "256"}}, profile),
            "batch: a ubatch of 512 is larger than batch (256); allowed: at most batch");
  EXPECT_EQ(changed({{"batch", "4096"}, {"ubatch", "4096"}}, profile).ubatch, 4096);
  EXPECT_THAT(refused({{"context", "512"}}, profile), HasSubstr("context: a context of 512 is too small for 4 slots"));
  EXPECT_THAT(refused({{"slots", "32"}}, profile), HasSubstr("slots: a context of 4096 is too small for 32 slots"));
  EXPECT_EQ(changed({{"context", "512"}, {"slots", "2"}}, profile).context, 512);
}

TEST(Overrides, fit_target_goes_with_mode_fit_and_the_number_of_gpus) {
  EXPECT_EQ(
      refused({{"fit_target_mib", "1"}}, profile_of("placement: {mode: n_cpu_moe, layers: 4}")),
      "fit_target_mib: the placement of profile \"p\" is of another mode (fit_target_mib is allowed with placement "
      "mode fit)");
  EXPECT_THAT(refused({{"fit_target_mib", "[1, 2, 3]"}}, profile_of("gpus: [0, 1]")),
              HasSubstr("fit_target_mib has 3 numbers for 2 GPUs"));
}

const Node* member(const Node* map, const std::string& key) {
  for (std::size_t i = 0; map != nullptr && i < map->keys.size(); ++i) {
    if (map->keys[i].text == key) return &map->items[i];
  }
  return nullptr;
}

TEST(Overrides, the_description_of_the_api_has_the_same_keys) {
  Reporter reporter;
  const auto api = parse_document(read_all(K3D_SOURCE_DIR "/api/openapi.yaml"), reporter);
  ASSERT_TRUE(api) << reporter.take().front().what;
  const Node* described = &*api;
  for (const char* key : {"components", "schemas", "Overrides", "properties"}) described = member(described, key);
  ASSERT_NE(described, nullptr);
  std::vector<std::string> keys;
  for (const Node& key : described->keys) keys.push_back(key.text);
  EXPECT_THAT(refused({{"x", "1"}}), HasSubstr("(allowed are " + joined(keys) + ")"));
}

}  // namespace
}  // namespace k3d::config
