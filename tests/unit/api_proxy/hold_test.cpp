// Requests that wait for their profile: how long, for what, and how a wait ends.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

const std::string kPost = request("POST", "/v1/x", "{\"model\":\"big\"}");

Settings holding(seconds hold = seconds(60)) {
  Settings settings = two_profiles();
  settings.profiles.at(0).while_loading = WhileLoading::hold;
  settings.profiles.at(0).hold = hold;
  return settings;
}

void load(Snapshot& snapshot) {
  snapshot.route.reset();
  snapshot.active_profile.clear();
  snapshot.phase = Phase::loading;
}

/// A proxy whose target loads.
class Held : public testing::Test {
 protected:
  explicit Held(proxy::Limits limits = {}, seconds hold = seconds(60))
      : rig(
            [this](EngineConnection& engine) {
              while (engine.read_request() && engine.answer("{\"size\":" + std::to_string(engine.body.size()) + "}")) {
              }
              ++ended;
            },
            holding(hold), limits) {
    rig.publish(2, load);
  }

  [[nodiscard]] bool waits(std::size_t count) {
    return eventually([this, count] { return rig.view().queued == count && rig.demand().standing() == count; });
  }
  /// What follows once nobody waits any more.
  void nothing_is_left() {
    EXPECT_TRUE(waits(0)) << rig.view().queued << " wait, " << rig.demand().standing() << " are asked for";
    EXPECT_TRUE(eventually([this] { return rig.view().in_flight == 0; }));
    EXPECT_EQ(rig.view().oldest_wait_seconds, std::nullopt);
  }

  std::atomic<int> ended{0};
  Rig rig;
};

TEST_F(Held, goes_on_when_its_profile_is_ready) {
  RawClient client = rig.connect();
  client.send(kPost);
  ASSERT_TRUE(waits(1));
  EXPECT_GE(rig.view().oldest_wait_seconds.value_or(-1), 0);
  EXPECT_EQ(rig.view().in_flight, 0U) << "a drain must not wait for those that wait";
  EXPECT_TRUE(rig.drain(3, seconds(0)));
  EXPECT_EQ(rig.view().admitted, 0U);
  const auto asked = rig.demand().asked();
  EXPECT_EQ(asked.at(0).profile, "batch");
  EXPECT_FALSE(asked.at(0).switch_over);
  EXPECT_EQ(asked.at(0).asked_by, "request from 127.0.0.1");
  rig.publish(3);
  rig.demand().answer_all(Status{});
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "{\"size\":15}") << "with its whole body";
  EXPECT_EQ(rig.view().admitted, 1U);
  nothing_is_left();
  client.send(kPost);
  EXPECT_EQ(client.reply().status, 200) << "the connection goes on";
}

TEST_F(Held, the_snapshot_decides_and_not_the_answer) {
  RawClient promised = rig.connect();
  promised.send(kPost);
  ASSERT_TRUE(waits(1));
  rig.demand().answer_all(Status{});
  EXPECT_EQ(promised.reply().status, 503) << "nothing takes requests, whatever was said";
  RawClient refused = rig.connect();
  refused.send(kPost);
  ASSERT_TRUE(waits(1));
  rig.publish(3);
  rig.demand().answer_all(fail(Code::engine_failed, "no"));
  EXPECT_EQ(refused.reply().status, 200) << "batch takes requests, whatever was said";
  nothing_is_left();
}

TEST_F(Held, waits_again_if_the_profile_is_gone_before_it_got_through) {
  RawClient client = rig.connect();
  client.send(kPost);
  ASSERT_TRUE(waits(1));
  rig.publish(3);
  rig.publish(4, load);
  rig.demand().answer_all(Status{});
  ASSERT_TRUE(eventually([this] { return rig.demand().asked().size() == 2; }));
  rig.publish(5);
  ASSERT_TRUE(waits(1));
  rig.demand().answer_all(Status{});
  EXPECT_EQ(client.reply().status, 200);
  nothing_is_left();
}

TEST_F(Held, follows_the_target_to_another_profile_if_it_named_none) {
  RawClient client = rig.connect();
  client.send(request("POST", "/v1/x", "{}"));
  RawClient named = rig.connect();
  named.send(kPost);
  ASSERT_TRUE(waits(2));
  rig.publish(3, [](Snapshot& snapshot) {
    load(snapshot);
    snapshot.target_profile = "fast";
  });
  rig.demand().answer_all(fail(Code::profile_not_active, "fast is to run"));
  EXPECT_EQ(client.reply().status, 503) << "fast rejects";
  EXPECT_EQ(named.reply().status, 503);
  nothing_is_left();
}

TEST_F(Held, a_deactivation_ends_it) {
  RawClient client = rig.connect();
  client.send(kPost);
  ASSERT_TRUE(waits(1));
  rig.publish(3, [](Snapshot& snapshot) {
    load(snapshot);
    snapshot.phase = Phase::stopped;
    snapshot.target_profile.clear();
  });
  rig.demand().answer_all(fail(Code::no_active_profile, "deactivated"));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("no_active_profile"), std::string::npos) << reply.body;
  nothing_is_left();
}

TEST_F(Held, a_failure_ends_it) {
  RawClient client = rig.connect();
  client.send(kPost);
  ASSERT_TRUE(waits(1));
  rig.publish(3, [](Snapshot& snapshot) {
    load(snapshot);
    snapshot.phase = Phase::failed;
    snapshot.last_failure = Failure{};
    snapshot.last_failure->code = "cuda_out_of_memory";
  });
  rig.demand().answer_all(fail(Code::engine_failed, "failed"));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("cuda_out_of_memory"), std::string::npos) << reply.body;
  nothing_is_left();
}

TEST_F(Held, requests_for_a_profile_that_is_not_on_its_way_are_told_at_once) {
  EXPECT_EQ(rig.ask(request("POST", "/v1/x", "{\"model\":\"small\"}")).status, 409);
  EXPECT_TRUE(rig.demand().asked().empty());
}

TEST_F(Held, F63_expect_is_answered_once_it_is_admitted) {
  RawClient client = rig.connect();
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  ASSERT_TRUE(waits(1));
  EXPECT_EQ(client.some(milliseconds(50)), "") << "its body isn't asked for yet";
  rig.publish(3);
  rig.demand().answer_all(Status{});
  EXPECT_EQ(client.reply().status, 100);
  client.send("{}");
  EXPECT_EQ(client.reply().status, 200);
  nothing_is_left();
}

TEST_F(Held, the_body_stays_with_the_client) {
  RawClient client = rig.connect();
  const std::size_t size = 64 * kMiB;
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(size) +
              "\r\n\r\n{\"model\":\"big\",");
  ASSERT_TRUE(waits(1));
  std::atomic<bool> sent{false};
  std::thread sending([&client, &sent] {
    client.send(std::string(size - 15, ' '));
    sent = true;
  });
  EXPECT_FALSE(eventually([&sent] { return sent.load(); }, milliseconds(300))) << "somebody reads it meanwhile";
  rig.publish(3);
  rig.demand().answer_all(Status{});
  EXPECT_EQ(client.reply().body, "{\"size\":" + std::to_string(size) + "}");
  sending.join();
}

enum class Leaving { fin, rst, half };

class HeldClientLeaves : public Held, public testing::WithParamInterface<Leaving> {
 protected:
  static void leave(RawClient& client) {
    if (GetParam() == Leaving::fin) client.close();
    if (GetParam() == Leaving::rst) client.reset();
    if (GetParam() == Leaving::half) client.half_close();
  }
};

TEST_P(HeldClientLeaves, F51_the_wait_ends_at_once) {
  // More than is read; the end of the stream must still fit into the kernel's window.
  const std::size_t unread = GetParam() == Leaving::rst ? 150'000 : 90'000;
  std::vector<RawClient> clients;
  for (const std::string& said :
       {kPost, kPost + kPost, std::string("GET /v1/x HTTP/1.0\r\n\r\n"),
        std::string("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
        "POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{\"model\":\"big\"," +
            std::string(unread, ' ')}) {
    clients.push_back(rig.connect());
    clients.back().send(said);
  }
  ASSERT_TRUE(waits(5));
  const auto begun = std::chrono::steady_clock::now();
  for (RawClient& client : clients) leave(client);
  nothing_is_left();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(2));
  EXPECT_EQ(rig.engine().requests(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Ways, HeldClientLeaves, testing::Values(Leaving::fin, Leaving::rst, Leaving::half));

TEST_F(Held, one_that_leaves_takes_no_other_with_it) {
  RawClient stays = rig.connect();
  stays.send(kPost);
  ASSERT_TRUE(waits(1));
  for (int i = 0; i < 20; ++i) {
    RawClient leaves = rig.connect();
    leaves.send(kPost);
    ASSERT_TRUE(waits(2));
    leaves.close();
    ASSERT_TRUE(waits(1));
  }
  rig.publish(3);
  rig.demand().answer_all(Status{});
  EXPECT_EQ(stays.reply().status, 200);
}

TEST_F(Held, stopping_ends_the_waits) {
  std::vector<RawClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(rig.connect());
    clients.back().send(kPost);
  }
  ASSERT_TRUE(waits(6));
  std::thread stopping([this] { rig.stop(seconds(20)); });
  for (RawClient& client : clients) {
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, 503);
    EXPECT_NE(reply.field("Retry-After"), "");
    EXPECT_EQ(reply.field("Connection"), "close");
    client.close();
  }
  stopping.join();
  EXPECT_EQ(rig.demand().standing(), 0U);
}

TEST_F(Held, stopping_without_patience_leaves_nothing_behind) {
  std::vector<RawClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(rig.connect());
    clients.back().send(kPost);
  }
  ASSERT_TRUE(waits(6));
  rig.stop(seconds(0));
  for (RawClient& client : clients) EXPECT_NE(client.end(), End::open);
  EXPECT_EQ(rig.demand().standing(), 0U);
}

class HeldForOneSecond : public Held {
 protected:
  HeldForOneSecond() : Held({}, seconds(1)) {}
};

TEST_F(HeldForOneSecond, a_wait_that_runs_out_is_503_with_the_time_to_come_again) {
  const auto begun = std::chrono::steady_clock::now();
  const Reply reply = rig.ask(kPost);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("model_loading"), std::string::npos) << reply.body;
  EXPECT_EQ(reply.field("Retry-After"), "30");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(950));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(4));
  nothing_is_left();
}

class HeldFew : public Held {
 protected:
  static proxy::Limits few() {
    proxy::Limits limits;
    limits.in_flight = 1;
    return limits;
  }
  HeldFew() : Held(few()) {}
};

TEST_F(HeldFew, those_that_wait_count_to_the_limit) {
  std::vector<RawClient> clients;
  for (int i = 0; i < 8; ++i) {  // more than there may be loops
    clients.push_back(rig.connect());
    clients.back().send(kPost);
  }
  const Reply beyond = clients.back().reply();
  EXPECT_EQ(beyond.status, 429);
  EXPECT_EQ(beyond.field("Retry-After"), "5");
  rig.publish(3);
  ASSERT_TRUE(eventually([this] { return rig.demand().standing() == rig.view().queued; }));
  rig.demand().answer_all(Status{});
  EXPECT_EQ(clients.front().reply().status, 200) << "its place is its own";
  nothing_is_left();
}

}  // namespace
}  // namespace k3d::test
