// k3d's own answers on the proxy: API.md's table.
#include "api/proxy/answers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/base/json.hpp"
#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::proxy {
namespace {

Snapshot serving() {
  Snapshot snapshot;
  snapshot.phase = Phase::ready;
  snapshot.active_profile = snapshot.target_profile = "batch";
  snapshot.route = Route{"batch", {}};
  snapshot.settings = std::make_shared<const Settings>(test::two_profiles());
  return snapshot;
}

Snapshot waiting(Phase phase) {
  Snapshot snapshot = serving();
  snapshot.route.reset();
  snapshot.active_profile.clear();
  snapshot.phase = phase;
  return snapshot;
}

std::string code_of(const std::optional<Answer>& answer) {
  if (!answer) return "";
  const auto body = parse_json(answer->body);
  return body ? (*body)["error"]["code"].get<std::string>() : "no JSON";
}

std::string retry_of(const Answer& answer) {
  for (const auto& [name, value] : answer.headers) {
    if (name == "Retry-After") return value;
  }
  return "";
}

TEST(Refusal, names_of_the_active_profile_and_of_nobody_go_on) {
  for (const char* name : {"batch", "kimi-k3", "big", "gpt-4", ""}) {
    EXPECT_FALSE(refusal(serving(), std::string(name)).has_value()) << name;
  }
  EXPECT_FALSE(refusal(serving(), std::nullopt).has_value());
}

TEST(Refusal, another_profiles_name_is_409) {
  for (const char* name : {"fast", "demo", "small"}) {
    const auto answer = refusal(serving(), std::string(name));
    ASSERT_TRUE(answer.has_value()) << name;
    EXPECT_EQ(answer->status, 409U);
    EXPECT_EQ(code_of(answer), "profile_not_active");
    EXPECT_NE(answer->body.find("batch is active"), std::string::npos) << answer->body;
    EXPECT_NE(answer->body.find("k3ctl up fast"), std::string::npos) << answer->body;
  }
}

TEST(Refusal, F57_while_loading) {
  for (const Phase phase : {Phase::preparing, Phase::starting, Phase::loading, Phase::probing, Phase::draining,
                            Phase::stopping, Phase::backoff}) {
    const auto answer = refusal(waiting(phase), std::nullopt);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, 503U);
    EXPECT_EQ(code_of(answer), "model_loading");
    EXPECT_EQ(retry_of(*answer), "30") << "without an ETA";
  }
  Snapshot snapshot = waiting(Phase::loading);
  snapshot.load.eta_seconds = 411.2;
  EXPECT_EQ(retry_of(*refusal(snapshot, std::nullopt)), "412");
  snapshot.load.eta_seconds = 0.0;
  EXPECT_EQ(retry_of(*refusal(snapshot, std::nullopt)), "1");
}

TEST(Refusal, nothing_runs_or_is_meant_to) {
  Snapshot snapshot = waiting(Phase::stopped);
  snapshot.target_profile.clear();
  const auto answer = refusal(snapshot, std::nullopt);
  EXPECT_EQ(answer->status, 503U);
  EXPECT_EQ(code_of(answer), "no_active_profile");
}

TEST(Refusal, a_failed_engine_says_why) {
  Snapshot snapshot = waiting(Phase::failed);
  Failure failure;
  failure.code = "cuda_out_of_memory";
  failure.title = "CUDA is out of memory";
  snapshot.last_failure = failure;
  const auto answer = refusal(snapshot, std::nullopt);
  EXPECT_EQ(answer->status, 503U);
  EXPECT_EQ(code_of(answer), "engine_failed");
  EXPECT_NE(answer->body.find("cuda_out_of_memory"), std::string::npos) << answer->body;
}

TEST(ErrorAnswer, has_openais_shape) {
  const Answer answer = error_answer({Code::unauthorized, "an API key is needed", {}, {}});
  const auto body = parse_json(answer.body);
  ASSERT_TRUE(body.has_value());
  const Json& error = (*body)["error"];
  EXPECT_EQ(error["message"].get<std::string>(), "an API key is needed");
  EXPECT_EQ(error["code"].get<std::string>(), "unauthorized");
  EXPECT_EQ(error["type"].get<std::string>(), "authentication_error");
  EXPECT_NE(serialise(answer, true, false).find("\r\nWWW-Authenticate: Bearer\r\n"), std::string::npos);
}

TEST(ErrorAnswer, odd_bytes_do_not_break_it) {
  const auto body = parse_json(refusal(serving(), std::string("small"))->body);
  EXPECT_TRUE(body.has_value());
  EXPECT_TRUE(parse_json(error_answer({Code::not_exposed, "GET /v1/\xff\xfe\"", {}, {}}).body).has_value());
}

TEST(ModelsAnswer, every_profile_and_alias_with_its_state) {
  const auto body = parse_json(models_answer(serving()).body);
  ASSERT_TRUE(body.has_value());
  std::string seen;
  for (const Json& item : (*body)["data"]) {
    seen += item["id"].get<std::string>() + "=" + item["state"].get<std::string>() + " ";
    EXPECT_EQ(item["object"].get<std::string>(), "model");
  }
  EXPECT_EQ(seen, "batch=active big=active fast=stopped small=stopped ");
  EXPECT_TRUE(parse_json(models_answer(Snapshot{}).body).has_value()) << "before the first snapshot";
}

TEST(Models, a_shared_alias_stands_there_once_and_is_whoevers_that_runs) {
  Snapshot snapshot = serving();
  auto settings = std::make_shared<Settings>(*snapshot.settings);
  for (Profile& profile : settings->profiles) profile.aliases = {"shared"};
  std::reverse(settings->profiles.begin(), settings->profiles.end());
  snapshot.settings = settings;
  snapshot.active_profile = settings->profiles.back().name;
  const auto body = parse_json(models_answer(snapshot).body).value();
  int times = 0;
  for (const auto& model : body["data"]) {
    if (model["id"] != "shared") continue;
    ++times;
    EXPECT_EQ(model["profile"], snapshot.active_profile);
  }
  EXPECT_EQ(times, 1);
}

TEST(Serialise, head_only_keeps_the_length) {
  const Answer answer{200, {{"X", "y"}}, "{}"};
  EXPECT_EQ(serialise(answer, true, true),
            "HTTP/1.1 200 OK\r\nX: y\r\nContent-Type: application/json\r\n"
            "Content-Length: 2\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(serialise(answer, false, false).ends_with("Connection: close\r\n\r\n{}"));
}

}  // namespace
}  // namespace k3d::proxy
