// k3d's own answers on the proxy: their shape, the list of models.
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
  const auto body = parse_json(openai_error(409, "\"small\" \xff", "profile_not_active").body);
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
