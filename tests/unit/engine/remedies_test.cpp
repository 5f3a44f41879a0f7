// What is proposed against a failure: what helps, further each time, until nothing is left.
#include "daemon/engine/remedies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine/apply.hpp"

namespace k3d::engine {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Profile fit() {
  Profile profile;
  profile.name = "batch";
  return profile;
}

Profile by_hand() {
  Profile profile = fit();
  profile.placement.mode = PlacementMode::n_cpu_moe;
  profile.placement.n_cpu_moe = 30;
  return profile;
}

Overrides set_of(const std::string& code, const Profile& profile) {
  const auto remedy = remedy_for(code, profile);
  if (!remedy) return {};
  EXPECT_FALSE(remedy->text.empty());
  EXPECT_FALSE(remedy->set.empty());
  return remedy->set;
}

/// Every remedy in a row, each applied before the next is asked for.
std::vector<Overrides> all_of(const std::string& code, Profile profile) {
  std::vector<Overrides> sets;
  for (Overrides set = set_of(code, profile); !set.empty(); set = set_of(code, profile)) {
    sets.push_back(set);
    if (sets.size() > 20) break;
    profile = test::with(profile, set);
  }
  return sets;
}

Overrides both(const char* margin, const char* ubatch) {
  return {{"fit_target_mib", margin}, {"ubatch", ubatch}};
}

TEST(Remedies, out_of_gpu_memory_on_a_request_raises_the_margin_and_takes_smaller_steps) {
  EXPECT_THAT(all_of("cuda_out_of_memory_on_request", fit()),
              testing::ElementsAre(both("6144", "2048"), both("8192", "1024"), both("10240", "512"),
                                   Overrides{{"fit_target_mib", "12288"}}));
}

TEST(Remedies, steps_that_are_set_already_are_halved_and_never_grow) {
  Profile profile = fit();
  profile.ubatch = 4096;
  EXPECT_EQ(set_of("cuda_out_of_memory_on_request", profile), both("6144", "2048"));
  profile.ubatch = 1024;
  EXPECT_EQ(set_of("cuda_out_of_memory_on_request", profile), both("6144", "512"));
  profile.ubatch = 256;
  EXPECT_EQ(set_of("cuda_out_of_memory_on_request", profile), (Overrides{{"fit_target_mib", "6144"}}));
  profile.ubatch.reset();
  profile.batch = 1024;  // and so ubatch too
  EXPECT_EQ(set_of("cuda_out_of_memory_on_request", profile), both("6144", "512"));
}

TEST(Remedies, a_margin_per_gpu_stays_one_per_gpu) {
  Profile profile = fit();
  profile.placement.fit_target_mib = {5120, 5120, 13312};
  EXPECT_EQ(set_of("cuda_out_of_memory_on_request", profile)["fit_target_mib"], "[6144, 6144, 13312]");
  profile.placement.fit_target_mib = {12288, 20000};
  EXPECT_THAT(set_of("cuda_out_of_memory", profile), testing::Not(testing::Contains(testing::Key("fit_target_mib"))));
}

TEST(Remedies, an_explicit_placement_has_no_margin) {
  EXPECT_THAT(
      all_of("cuda_out_of_memory_on_request", by_hand()),
      testing::ElementsAre(Overrides{{"ubatch", "2048"}}, Overrides{{"ubatch", "1024"}}, Overrides{{"ubatch", "512"}}));
  EXPECT_THAT(all_of("cuda_out_of_memory", by_hand()), IsEmpty());
}

TEST(Remedies, out_of_gpu_memory_at_load) {
  const std::vector<Overrides> all = all_of("cuda_out_of_memory", fit());
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all[0], (Overrides{{"fit_target_mib", "6144"}}));
  EXPECT_EQ(all[3], (Overrides{{"fit_target_mib", "12288"}}));
  EXPECT_EQ(all[6], (Overrides{{"ubatch", "512"}}));
  Profile quantised = fit();
  quantised.cache_type = "q8_0";
  for (const Overrides& set : all_of("cuda_out_of_memory", quantised)) EXPECT_FALSE(set.contains("cache_type"));
}

TEST(Remedies, without_gpus_nothing_is_proposed_for_them) {
  Profile profile = fit();
  profile.gpus.choice = GpuChoice::none;
  EXPECT_FALSE(remedy_for("cuda_out_of_memory_on_request", profile));
  EXPECT_FALSE(remedy_for("cuda_out_of_memory", profile));
}

TEST(Remedies, a_host_out_of_memory_keeps_less_beside_the_model) {
  EXPECT_THAT(all_of("oom", fit()),
              testing::ElementsAre(Overrides{{"cache_ram", "0"}}, Overrides{{"ctx_checkpoints", "2"}},
                                   Overrides{{"ctx_checkpoints", "0"}}));
  Profile profile = fit();
  profile.cache_ram = 0;
  profile.ctx_checkpoints = 1;
  EXPECT_EQ(set_of("oom", profile), (Overrides{{"ctx_checkpoints", "0"}}));
}

TEST(Remedies, cache_types_go_back_to_f16) {
  for (const char* code : {"cache_type_unsupported", "cache_types_differ"}) {
    Profile profile = fit();
    EXPECT_FALSE(remedy_for(code, profile)) << "k3d itself set f16 for both";
    profile.cache_type = "q8_0";
    EXPECT_THAT(all_of(code, profile), testing::ElementsAre(Overrides{{"cache_type", "f16"}}));
  }
}

TEST(Remedies, say_in_words_what_they_set) {
  const Remedy remedy = remedy_for("cuda_out_of_memory_on_request", fit()).value();
  EXPECT_EQ(remedy.text, "leave 6144 MiB per GPU free instead of 4096, and compute prompts in steps of 2048 tokens");
}

TEST(Remedies, nothing_where_no_setting_helps) {
  for (const char* code : {"model_missing", "model_corrupt", "model_truncated", "unknown_architecture", "port_in_use",
                           "gpu_lost", "crash", "killed", "load_stalled", "draft_device", "no_such_failure", ""}) {
    EXPECT_FALSE(remedy_for(code, fit())) << code;
  }
}

}  // namespace
}  // namespace k3d::engine
