// What becomes of a request under every kind of snapshot: the table of the proxy's answers.
#include "api/proxy/verdict.hpp"

#include <gtest/gtest.h>

#include "daemon/base/json.hpp"
#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::proxy {
namespace {

Snapshot serving(const Settings& settings = test::two_profiles()) {
  Snapshot snapshot;
  snapshot.phase = Phase::ready;
  snapshot.active_profile = snapshot.target_profile = "batch";
  snapshot.route = Route{"batch", {}};
  snapshot.settings = std::make_shared<const Settings>(settings);
  return snapshot;
}

/// Batch is the target and takes no requests.
Snapshot waiting(Phase phase, const Settings& settings = test::two_profiles()) {
  Snapshot snapshot = serving(settings);
  snapshot.route.reset();
  snapshot.active_profile.clear();
  snapshot.phase = phase;
  return snapshot;
}

Snapshot stopped(const Settings& settings = test::two_profiles()) {
  Snapshot snapshot = waiting(Phase::stopped, settings);
  snapshot.target_profile.clear();
  return snapshot;
}

/// Batch holds its requests for 40 s, fast for 50 s.
Settings holding() {
  Settings settings = test::two_profiles();
  for (Profile& profile : settings.profiles) profile.while_loading = WhileLoading::hold;
  settings.profiles.at(0).hold = seconds(40);
  settings.profiles.at(1).hold = seconds(50);
  return settings;
}

/// Fast is switched to when a request names it.
Settings switching(WhileLoading while_loading) {
  Settings settings = test::two_profiles();
  settings.profiles.at(1).on_request = OnRequest::switch_over;
  settings.profiles.at(1).while_loading = while_loading;
  settings.profiles.at(1).hold = seconds(50);
  return settings;
}

constexpr Phase kOnItsWay[] = {Phase::preparing, Phase::starting, Phase::loading, Phase::probing,
                               Phase::draining,  Phase::stopping, Phase::backoff};

std::string code_of(const Verdict& verdict) {
  if (verdict.wait) return "wait for " + verdict.wait->profile;
  if (!verdict.answer) return "";
  const auto body = parse_json(verdict.answer->body);
  return body ? (*body)["error"]["code"].get<std::string>() : "no JSON";
}

std::string retry_of(const Answer& answer) {
  for (const auto& [name, value] : answer.headers) {
    if (name == "Retry-After") return value;
  }
  return "";
}

TEST(Judge, names_of_the_active_profile_and_of_nobody_go_on) {
  for (const char* name : {"batch", "kimi-k3", "big", "gpt-4", ""}) {
    EXPECT_EQ(code_of(judge(serving(), std::string(name))), "") << name;
  }
  EXPECT_EQ(code_of(judge(serving(), std::nullopt)), "");
  EXPECT_EQ(code_of(judge_unseen(serving())), "");
}

TEST(Judge, another_profiles_name_is_409) {
  for (const char* name : {"fast", "demo", "small"}) {
    const Verdict verdict = judge(serving(), std::string(name));
    EXPECT_EQ(code_of(verdict), "profile_not_active") << name;
    EXPECT_EQ(verdict.answer->status, 409U);
    EXPECT_NE(verdict.answer->body.find("batch is active"), std::string::npos) << verdict.answer->body;
    EXPECT_NE(verdict.answer->body.find("k3ctl up fast"), std::string::npos) << verdict.answer->body;
  }
}

TEST(Judge, F57_while_loading) {
  for (const Phase phase : kOnItsWay) {
    const Verdict verdict = judge_unseen(waiting(phase));
    EXPECT_EQ(code_of(verdict), "model_loading");
    EXPECT_EQ(verdict.answer->status, 503U);
    EXPECT_EQ(retry_of(*verdict.answer), "30") << "without an ETA";
  }
  Snapshot snapshot = waiting(Phase::loading);
  snapshot.load.eta_seconds = 411.2;
  EXPECT_EQ(retry_of(*judge(snapshot, std::nullopt).answer), "412");
  snapshot.load.eta_seconds = 0.0;
  EXPECT_EQ(retry_of(*judge(snapshot, std::nullopt).answer), "1");
}

TEST(Judge, nothing_runs_or_is_meant_to) {
  for (const char* name : {"batch", "small", "gpt-4"}) {
    const Verdict verdict = judge(stopped(holding()), std::string(name));
    EXPECT_EQ(code_of(verdict), "no_active_profile") << name;
    EXPECT_EQ(verdict.answer->status, 503U);
  }
  EXPECT_EQ(code_of(judge_unseen(stopped(holding()))), "no_active_profile");
}

TEST(Judge, a_failed_engine_says_why) {
  Snapshot snapshot = waiting(Phase::failed, holding());
  Failure failure;
  failure.code = "cuda_out_of_memory";
  failure.title = "CUDA is out of memory";
  snapshot.last_failure = failure;
  for (const auto& name : {std::optional<std::string>(), std::optional<std::string>("small")}) {
    const Verdict verdict = judge(snapshot, name);
    EXPECT_EQ(code_of(verdict), "engine_failed");
    EXPECT_EQ(verdict.answer->status, 503U);
    EXPECT_NE(verdict.answer->body.find("cuda_out_of_memory"), std::string::npos) << verdict.answer->body;
  }
}

TEST(Judge, hold_waits_for_the_target_whatever_its_phase) {
  for (const Phase phase : kOnItsWay) {
    for (const char* name : {"batch", "kimi-k3", "big", "gpt-4"}) {
      const Verdict verdict = judge(waiting(phase, holding()), std::string(name));
      ASSERT_EQ(code_of(verdict), "wait for batch") << name;
      EXPECT_FALSE(verdict.wait->switch_over);
      EXPECT_EQ(verdict.wait->hold, seconds(40));
    }
    EXPECT_EQ(code_of(judge(waiting(phase, holding()), std::nullopt)), "wait for batch");
    EXPECT_EQ(code_of(judge_unseen(waiting(phase, holding()))), "wait for batch");
    EXPECT_EQ(code_of(judge(waiting(phase, holding()), std::string("small"))), "profile_not_active")
        << "it would wait for nothing";
  }
}

TEST(Judge, the_old_profile_serves_on_while_the_next_is_prepared) {
  Snapshot snapshot = serving(holding());
  snapshot.phase = Phase::preparing;
  snapshot.target_profile = "fast";
  EXPECT_EQ(code_of(judge(snapshot, std::string("big"))), "");
  EXPECT_EQ(code_of(judge(snapshot, std::nullopt)), "");
  const Verdict verdict = judge(snapshot, std::string("small"));
  ASSERT_EQ(code_of(verdict), "wait for fast");
  EXPECT_FALSE(verdict.wait->switch_over) << "it is on its way already";
  snapshot.settings = std::make_shared<const Settings>(test::two_profiles());
  EXPECT_EQ(code_of(judge(snapshot, std::string("small"))), "model_loading");
}

TEST(Judge, on_request_switch_asks_for_the_profile) {
  for (const WhileLoading mode : {WhileLoading::hold, WhileLoading::reject}) {
    const Settings settings = switching(mode);
    Snapshot failed = waiting(Phase::failed, settings);
    for (const Snapshot& snapshot : {serving(settings), stopped(settings), waiting(Phase::loading, settings), failed}) {
      const Verdict verdict = judge(snapshot, std::string("small"));
      ASSERT_EQ(code_of(verdict), "wait for fast");
      EXPECT_TRUE(verdict.wait->switch_over);
      EXPECT_EQ(verdict.wait->hold, mode == WhileLoading::hold ? seconds(50) : seconds(0));
      EXPECT_EQ(code_of(judge_unseen(snapshot)), "") << "its name has to be read";
    }
    EXPECT_EQ(code_of(judge(serving(settings), std::string("big"))), "");
    EXPECT_EQ(code_of(judge(stopped(settings), std::string("big"))), "no_active_profile");
    EXPECT_EQ(code_of(judge(stopped(settings), std::nullopt)), "no_active_profile");
  }
}

TEST(Judge, a_failed_target_is_not_started_again_by_requests) {
  Snapshot snapshot = waiting(Phase::failed, switching(WhileLoading::hold));
  snapshot.target_profile = "fast";
  EXPECT_EQ(code_of(judge(snapshot, std::string("small"))), "engine_failed");
}

TEST(Judge, of_those_that_share_an_alias_the_one_that_runs_or_is_to_counts_else_the_first) {
  Settings settings = switching(WhileLoading::hold);
  for (Profile& profile : settings.profiles) profile.aliases = {"shared"};
  EXPECT_EQ(code_of(judge(serving(settings), std::string("shared"))), "");
  EXPECT_EQ(code_of(judge(stopped(settings), std::string("shared"))), "no_active_profile") << "batch is first";
  settings.profiles.at(0).on_request = OnRequest::switch_over;
  EXPECT_EQ(code_of(judge(stopped(settings), std::string("shared"))), "wait for batch");
  Snapshot snapshot = waiting(Phase::draining, settings);
  snapshot.active_profile = "batch";
  snapshot.target_profile = "fast";
  EXPECT_EQ(code_of(judge(snapshot, std::string("shared"))), "wait for fast");
}

TEST(Judge, a_target_that_the_configuration_lost_holds_nobody) {
  Snapshot snapshot = waiting(Phase::loading, holding());
  snapshot.target_profile = "gone";
  EXPECT_EQ(code_of(judge(snapshot, std::nullopt)), "model_loading");
  snapshot.settings.reset();
  EXPECT_EQ(code_of(judge(snapshot, std::string("x"))), "model_loading") << "before the first snapshot";
}

TEST(Refused, the_lifecycles_words_become_answers) {
  const Wait wait{"fast", true, seconds(50)};
  const auto said = [&wait](const Snapshot& snapshot, Code code) {
    return Verdict{refused(snapshot, wait, {code, "the reason", {}, {}}), std::nullopt};
  };
  const Verdict not_active = said(serving(), Code::profile_not_active);
  EXPECT_EQ(code_of(not_active), "profile_not_active");
  EXPECT_EQ(not_active.answer->status, 409U);
  for (const char* part : {"the reason", "k3ctl up fast"}) {
    EXPECT_NE(not_active.answer->body.find(part), std::string::npos) << not_active.answer->body;
  }
  const Verdict held = said(serving(), Code::gpus_held);
  EXPECT_EQ(held.answer->status, 409U);
  EXPECT_EQ(code_of(held), "gpus_held");
  EXPECT_NE(held.answer->body.find("the reason"), std::string::npos);
  EXPECT_EQ(code_of(said(serving(), Code::engine_failed)), "engine_failed");
  EXPECT_EQ(said(stopped(), Code::no_active_profile).answer->status, 503U);
  for (const Code code : {Code::model_loading, Code::shutting_down, Code::timed_out}) {
    const Verdict again = said(serving(), code);
    EXPECT_EQ(again.answer->status, 503U);
    EXPECT_NE(retry_of(*again.answer), "");
  }
}

TEST(Refused, a_wait_that_ran_out_comes_again_by_the_eta) {
  Snapshot snapshot = waiting(Phase::loading);
  snapshot.load.eta_seconds = 77.0;
  const Answer answer = refused(snapshot, {"batch", false, seconds(1)}, {Code::model_loading, "late", {}, {}});
  EXPECT_EQ(retry_of(answer), "77");
  EXPECT_EQ(retry_of(still_loading(snapshot)), "77");
}

}  // namespace
}  // namespace k3d::proxy
