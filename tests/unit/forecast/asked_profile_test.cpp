// What a question asks about, by the configuration's own rules.
#include "daemon/forecast/asked_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/overrides.hpp"

namespace k3d::forecast {
namespace {

using testing::HasSubstr;

class AskedProfile : public testing::Test {
 protected:
  AskedProfile() {
    auto settings = std::make_shared<Settings>();
    settings->models["demo"] = model("demo", "", "/m/tiny.gguf");
    settings->models["kimi-k3"] = model("kimi-k3", "unsloth/Kimi-K3-GGUF", "");
    Profile batch;
    batch.name = "batch";
    batch.model = "kimi-k3";
    batch.quant = "UD-Q2_K_XL";
    batch.slots = 4;
    batch.speculative = Speculative{"draft-dspark", "demo"};
    settings->profiles.push_back(batch);
    now_.settings = settings;
  }
  static Model model(const std::string& name, const std::string& repo, const std::string& path) {
    Model made;
    made.name = name;
    made.repo = repo;
    made.path = path;
    return made;
  }
  Result<Profile> ask(const PlanQuestion& question) const { return asked_profile(question, now_, config::with_overrides); }
  std::string refused(const PlanQuestion& question) const {
    const Result<Profile> profile = ask(question);
    EXPECT_FALSE(profile);
    return profile ? std::string() : profile.error().text();
  }
  static PlanQuestion of_batch() {
    PlanQuestion question;
    question.profile = "batch";
    return question;
  }

  Snapshot now_;
};

TEST_F(AskedProfile, is_the_configured_one_with_what_is_in_force_and_what_was_asked) {
  now_.overrides["batch"] = {{"ubatch", "512"}, {"slots", "2"}};
  PlanQuestion question = of_batch();
  question.set = {{"slots", "8"}, {"cache_type", "q8_0"}};
  const Result<Profile> profile = ask(question);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->ubatch, 512);
  EXPECT_EQ(profile->slots, 8);
  EXPECT_EQ(profile->cache_type, "q8_0");
  EXPECT_EQ(profile->quant, "UD-Q2_K_XL");
}

TEST_F(AskedProfile, overrides_that_no_longer_fit_are_left_out) {
  now_.overrides["batch"] = {{"slots", "many"}};
  EXPECT_EQ(ask(of_batch())->slots, 4);
}

TEST_F(AskedProfile, another_model_or_quant_takes_the_place_of_its_own) {
  PlanQuestion question = of_batch();
  question.quant = "UD-IQ2_XXS";
  EXPECT_EQ(ask(question)->quant, "UD-IQ2_XXS");
  question = of_batch();
  question.model = "demo";
  EXPECT_EQ(ask(question)->model, "demo");
  EXPECT_EQ(ask(question)->quant, "");
  question = of_batch();
  question.path = "/m/other.gguf";
  EXPECT_EQ(ask(question)->model, "");
  EXPECT_EQ(ask(question)->slots, 4);
}

TEST_F(AskedProfile, what_cannot_be_planned_is_refused_with_what_is_allowed) {
  PlanQuestion question;
  EXPECT_THAT(refused(question), HasSubstr("name a profile"));
  question.profile = "bach";
  EXPECT_THAT(refused(question), HasSubstr("batch"));
  question.profile.clear();
  question.model = "kimi";
  EXPECT_THAT(refused(question), HasSubstr("demo, kimi-k3"));
  question.model = "kimi-k3";
  EXPECT_THAT(refused(question), HasSubstr("k3ctl quants"));
  question.path = "/m/tiny.gguf";
  EXPECT_THAT(refused(question), HasSubstr("in place of"));
  for (const auto& [key, value] : Overrides{{"slots", "0"}, {"context", "12"}, {"cache_type", "f17"}, {"ubatch", "-1"}}) {
    question = of_batch();
    question.set = {{key, value}};
    EXPECT_THAT(refused(question), HasSubstr(key));
  }
  question = of_batch();
  question.draft = "nothing";
  EXPECT_THAT(refused(question), HasSubstr("draft"));
}

TEST_F(AskedProfile, a_split_alone_puts_every_layer_on_the_gpus) {
  PlanQuestion question = of_batch();
  question.tensor_split = {60, 34};
  EXPECT_EQ(ask(question)->placement.mode, PlacementMode::n_cpu_moe);
  EXPECT_EQ(ask(question)->placement.n_cpu_moe, 0);
  question.placement.emplace();
  question.placement->mode = PlacementMode::n_cpu_moe;
  EXPECT_EQ(ask(question)->placement.n_cpu_moe, std::nullopt);
  EXPECT_EQ(ask(question)->placement.tensor_split, (std::vector<double>{60, 34}));
}

TEST_F(AskedProfile, a_draft_can_be_left_out_or_be_another) {
  PlanQuestion question = of_batch();
  question.draft = "";
  EXPECT_FALSE(ask(question)->speculative);
  question.draft = "kimi-k3";
  EXPECT_EQ(ask(question)->speculative->model, "kimi-k3");
}

TEST_F(AskedProfile, gpus_of_the_question_are_those_of_the_launch) {
  PlanQuestion question = of_batch();
  question.gpus = {{3}, {0}};
  EXPECT_EQ(ask(question)->gpus, (Gpus{GpuChoice::listed, {"3", "0"}}));
  question.gpus = {{{}, kGiB, kGiB}};
  EXPECT_EQ(ask(question)->gpus.choice, GpuChoice::all);
  question.gpus.emplace();
  EXPECT_EQ(ask(question)->gpus.choice, GpuChoice::none);
}

TEST(Settled, has_what_the_plan_chose_where_it_was_left_open) {
  Plan plan;
  plan.batch = 4096;
  plan.ubatch = 2048;
  plan.devices.resize(2);
  plan.placement = {PlacementMode::fit, std::nullopt, {47, 47}, {6144}, {}, 0};
  Profile fit = settled(Profile(), plan);
  EXPECT_EQ(fit.batch, 4096);
  EXPECT_EQ(fit.ubatch, 2048);
  EXPECT_EQ(fit.placement.fit_target_mib, std::vector<int>{6144});
  EXPECT_TRUE(fit.placement.tensor_split.empty()) << "a fit that is given a split is none";
  Profile experts;
  experts.placement.mode = PlacementMode::n_cpu_moe;
  plan.placement = {PlacementMode::n_cpu_moe, 9, {60, 34}, {}, {}, 9};
  EXPECT_EQ(settled(experts, plan).placement.n_cpu_moe, 9);
  EXPECT_EQ(settled(experts, plan).placement.tensor_split, (std::vector<double>{60, 34}));
  EXPECT_EQ(settled(experts, Plan()), experts) << "nothing was computed";
}

}  // namespace
}  // namespace k3d::forecast
