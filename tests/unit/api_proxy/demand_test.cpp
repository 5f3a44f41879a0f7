// on_request: switch: which requests ask for a profile, and what becomes of the lifecycle's answers.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

const std::string kForFast = request("POST", "/v1/x", "{\"model\":\"small\"}");
const std::string kForBatch = request("POST", "/v1/x", "{\"model\":\"big\"}");

Settings switching(WhileLoading while_loading) {
  Settings settings = two_profiles();
  settings.profiles.at(1).on_request = OnRequest::switch_over;
  settings.profiles.at(1).while_loading = while_loading;
  settings.profiles.at(1).hold = seconds(60);
  return settings;
}

void towards_fast(Snapshot& snapshot) {
  snapshot.phase = Phase::preparing;
  snapshot.target_profile = "fast";
}

void stopped(Snapshot& snapshot) {
  snapshot.route.reset();
  snapshot.phase = Phase::stopped;
  snapshot.active_profile.clear();
  snapshot.target_profile.clear();
}

TEST(OnRequest, with_reject_the_switch_begins_and_the_client_comes_again) {
  Rig rig(answer_ok, switching(WhileLoading::reject));
  rig.demand().set_reflex([&rig](const Wanted&) {
    rig.publish(2, towards_fast);
    return Status(fail(Code::model_loading, "begun"));
  });
  const Reply reply = rig.ask(kForFast);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("model_loading"), std::string::npos) << reply.body;
  EXPECT_NE(reply.field("Retry-After"), "");
  const auto asked = rig.demand().asked();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked.at(0).profile, "fast");
  EXPECT_TRUE(asked.at(0).switch_over);
  EXPECT_EQ(asked.at(0).asked_by, "request from 127.0.0.1");
  EXPECT_EQ(rig.ask(kForBatch).status, 200) << "the profile that runs serves on";
  EXPECT_EQ(rig.ask(kForFast).status, 503);
  EXPECT_EQ(rig.demand().asked().size(), 1U) << "it is on its way: nothing more to ask for";
}

TEST(OnRequest, with_hold_it_waits_for_the_switch) {
  std::atomic<int> answered{0};
  Rig rig(
      [&answered](EngineConnection& engine) {
        while (engine.read_request() && engine.answer("{}")) ++answered;
      },
      switching(WhileLoading::hold));
  RawClient client = rig.connect();
  client.send(kForFast);
  ASSERT_TRUE(eventually([&rig] { return rig.demand().standing() == 1; }));
  EXPECT_EQ(rig.ask(kForBatch).status, 200) << "the profile that runs serves on";
  rig.publish(2, [](Snapshot& snapshot) {
    snapshot.active_profile = snapshot.target_profile = "fast";
    snapshot.route->profile = "fast";
  });
  rig.demand().answer_all(Status{});
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_TRUE(eventually([&rig] { return rig.view().queued == 0 && rig.view().in_flight == 0; }));
}

TEST(OnRequest, while_nothing_runs_a_name_starts_its_profile) {
  Rig rig(answer_ok, switching(WhileLoading::hold));
  rig.publish(2, stopped);
  EXPECT_EQ(rig.ask(kForBatch).status, 503) << "batch isn't switched to";
  EXPECT_EQ(rig.ask(request("POST", "/v1/x", "{}")).status, 503) << "nobody is named";
  EXPECT_TRUE(rig.demand().asked().empty());
  RawClient client = rig.connect();
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 17\r\n\r\n");
  EXPECT_EQ(client.reply().status, 100) << "only its body says what it asks for";
  client.send("{\"model\":\"small\"}");
  ASSERT_TRUE(eventually([&rig] { return rig.demand().standing() == 1; }));
  EXPECT_TRUE(rig.demand().asked().at(0).switch_over);
  rig.publish(3, [](Snapshot& snapshot) {
    snapshot.active_profile = snapshot.target_profile = "fast";
    snapshot.route->profile = "fast";
  });
  rig.demand().answer_all(Status{});
  EXPECT_EQ(client.reply().status, 200);
}

struct Refusal {
  Code code;
  int status;
  const char* name;
};

TEST(OnRequest, refusals_are_told_in_openais_shape_and_once) {
  for (const WhileLoading mode : {WhileLoading::reject, WhileLoading::hold}) {
    Rig rig(answer_ok, switching(mode));
    for (const Refusal& refusal :
         {Refusal{Code::profile_not_active, 409, "profile_not_active"}, Refusal{Code::gpus_held, 409, "gpus_held"},
          Refusal{Code::engine_failed, 503, "engine_failed"}, Refusal{Code::model_loading, 503, "model_loading"},
          Refusal{Code::unknown_profile, 404, "unknown_profile"}, Refusal{Code::shutting_down, 503, "shutting_down"}}) {
      const std::size_t before = rig.demand().asked().size();
      rig.demand().set_reflex([&refusal](const Wanted&) { return Status(fail(refusal.code, "batch runs, and why")); });
      const Reply reply = rig.ask(kForFast);
      EXPECT_EQ(reply.status, refusal.status) << refusal.name;
      EXPECT_NE(reply.body.find("\"code\":\"" + std::string(refusal.name) + "\""), std::string::npos) << reply.body;
      EXPECT_NE(reply.body.find("batch runs, and why"), std::string::npos) << reply.body;
      EXPECT_EQ(rig.demand().asked().size(), before + 1);
      if (refusal.code == Code::profile_not_active) {
        EXPECT_NE(reply.body.find("k3ctl up fast"), std::string::npos) << reply.body;
      }
    }
    EXPECT_EQ(rig.engine().requests(), 0U);
    EXPECT_TRUE(eventually([&rig] { return rig.view().queued == 0; }));
  }
}

TEST(OnRequest, refuse_asks_for_nothing) {
  Rig rig;
  EXPECT_EQ(rig.ask(kForFast).status, 409);
  EXPECT_TRUE(rig.demand().asked().empty());
}

TEST(OnRequest, a_client_that_leaves_is_waited_for_no_longer) {
  Rig rig(answer_ok, switching(WhileLoading::hold));
  RawClient client = rig.connect();
  client.send(kForFast);
  ASSERT_TRUE(eventually([&rig] { return rig.demand().standing() == 1; }));
  client.reset();
  EXPECT_TRUE(eventually([&rig] { return rig.demand().standing() == 0 && rig.view().queued == 0; }));
}

}  // namespace
}  // namespace k3d::test
