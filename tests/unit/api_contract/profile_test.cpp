#include "api/contract/profile.hpp"

#include <gtest/gtest.h>

#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/samples.hpp"
#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

/// What planning came to.
std::shared_ptr<const Result<PlanAnswer>> outlook() {
  PlanAnswer answer;
  answer.plan.verdict = Verdict::hybrid;
  answer.plan.reasons = {"experts of 9 layers are in host RAM"};
  answer.plan.total_bytes = 10;
  answer.present_bytes = 5;
  answer.proof = Proof::elsewhere;
  return std::make_shared<const Result<PlanAnswer>>(std::move(answer));
}

TEST(ProfileJson, shows_configuration_state_and_facts) {
  const Snapshot snapshot = samples::snapshot();
  const ProfileFacts facts{true, outlook()};
  const std::string json = profile_json(snapshot, snapshot.settings->profiles.front(), facts);
  samples::expect_golden("profile_detail", json);
  EXPECT_EQ(schema_faults("ProfileDetail", json), "");
}

TEST(ProfileJson, knows_no_more_than_it_was_told) {
  const Snapshot snapshot = samples::snapshot();
  Json items = Json::array();
  items.push_back(profile_object(snapshot, snapshot.settings->profiles.back(), {}));
  EXPECT_TRUE(items[0]["files"]["present_bytes"].is_null());
  EXPECT_TRUE(items[0]["image_present"].is_null());
  EXPECT_EQ(schema_faults("ProfileList", list_json(items, std::nullopt)), "");
}

TEST(ProfileJson, says_why_there_is_no_plan) {
  const Snapshot snapshot = samples::snapshot();
  const Error missing{Code::files_missing, "there is no GGUF file", "download it", {}};
  const ProfileFacts facts{{}, std::make_shared<const Result<PlanAnswer>>(std::unexpected(missing))};
  const std::string json = profile_json(snapshot, snapshot.settings->profiles.front(), facts);
  EXPECT_EQ(schema_faults("ProfileDetail", json), "");
  const Json profile = Json::parse(json);
  EXPECT_TRUE(profile["verdict"].is_null());
  EXPECT_TRUE(profile["plan"].is_null());
  EXPECT_EQ(profile["reasons"].dump(), R"(["there is no GGUF file"])");
}

TEST(ProfileJson, resolved_settings_use_the_words_of_the_configuration) {
  Profile profile;
  profile.name = "p";
  EXPECT_EQ(profile_config_object(profile)["placement"].dump(), R"({"mode":"fit","fit_target_mib":"auto"})");
  EXPECT_EQ(profile_config_object(profile)["gpus"], "all");
  EXPECT_EQ(profile_config_object(profile)["threads"], "auto");
  profile.placement.fit_target_mib = {4096};
  EXPECT_EQ(profile_config_object(profile)["placement"]["fit_target_mib"], 4096);
  profile.placement.fit_target_mib = {4096, 2048};
  EXPECT_EQ(profile_config_object(profile)["placement"]["fit_target_mib"].dump(), "[4096,2048]");
  profile.placement.mode = PlacementMode::override_tensors;
  profile.placement.tensors = {"exps=CPU"};
  EXPECT_EQ(profile_config_object(profile)["placement"].dump(), R"({"mode":"override","tensors":["exps=CPU"]})");
  profile.gpus = {GpuChoice::listed, {"0", "GPU-x"}};
  EXPECT_EQ(profile_config_object(profile)["gpus"].dump(), R"(["0","GPU-x"])");
}

struct StateCase {
  Phase phase;
  const char* active;
  const char* target;
  const char* failed;  ///< profile of the last failure
  ProfileState expected;
};

class ProfileStates : public testing::TestWithParam<StateCase> {};

TEST_P(ProfileStates, of_profile_b) {
  const StateCase& c = GetParam();
  Snapshot snapshot;
  snapshot.phase = c.phase;
  snapshot.active_profile = c.active;
  snapshot.target_profile = c.target;
  if (*c.failed != '\0') snapshot.last_failure.emplace().profile = c.failed;
  EXPECT_EQ(profile_state(snapshot, "B"), c.expected);
}

INSTANTIATE_TEST_SUITE_P(table, ProfileStates,
                         testing::Values(StateCase{Phase::ready, "B", "B", "", ProfileState::active},
                                         StateCase{Phase::preparing, "A", "B", "", ProfileState::starting},
                                         StateCase{Phase::draining, "A", "B", "B", ProfileState::starting},
                                         StateCase{Phase::loading, "", "B", "B", ProfileState::starting},
                                         StateCase{Phase::backoff, "", "B", "B", ProfileState::starting},
                                         StateCase{Phase::preparing, "B", "A", "", ProfileState::active},
                                         StateCase{Phase::failed, "", "B", "B", ProfileState::failed},
                                         StateCase{Phase::ready, "A", "A", "B", ProfileState::failed},  // rolled back
                                         StateCase{Phase::loading, "", "A", "", ProfileState::stopped},
                                         StateCase{Phase::stopped, "", "", "", ProfileState::stopped},
                                         StateCase{Phase::draining, "B", "", "", ProfileState::active}));

}  // namespace
}  // namespace k3d::api
