// Clients that leave, dally, pipeline, or send too much; keys and names at the door.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "daemon/base/sha256.hpp"
#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

constexpr std::string_view kEvents =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// How a client goes away.
enum class Leaving { fin, rst, half };

void leave(RawClient& client, Leaving how) {
  if (how == Leaving::fin) client.close();
  if (how == Leaving::rst) client.reset();
  if (how == Leaving::half) client.half_close();
}

class ClientLeaves : public testing::TestWithParam<Leaving> {};

TEST_P(ClientLeaves, F51_during_a_silent_prefill) {
  std::atomic<bool> asked{false};
  std::atomic<int> left_after{-1};
  Rig rig([&asked, &left_after](EngineConnection& engine) {
    if (!engine.read_request()) return;
    asked = true;
    const auto begun = std::chrono::steady_clock::now();
    if (engine.left()) {
      left_after =
          static_cast<int>(std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun).count());
    }
  });
  RawClient client = rig.connect();
  client.send(request("POST", "/v1/chat/completions", "{\"stream\":true}"));
  ASSERT_TRUE(eventually([&asked] { return asked.load(); }));
  leave(client, GetParam());
  EXPECT_TRUE(eventually([&left_after] { return left_after >= 0; })) << "the engine never learns it";
  EXPECT_TRUE(eventually([&rig] { return rig.view().in_flight == 0; }));
}

TEST_P(ClientLeaves, F52_in_the_middle_of_a_stream) {
  std::atomic<bool> streaming{false};
  std::atomic<bool> left{false};
  Rig rig([&streaming, &left](EngineConnection& engine) {
    if (!engine.read_request()) return;
    engine.send(std::string(kEvents) + "9\r\ndata: 1\n\n\r\n");
    streaming = true;
    left = engine.left();
  });
  RawClient client = rig.connect();
  client.send(request("POST", "/v1/chat/completions", "{}"));
  ASSERT_TRUE(eventually([&streaming] { return streaming.load(); }));
  EXPECT_NE(client.some(), "");
  leave(client, GetParam());
  EXPECT_TRUE(eventually([&left] { return left.load(); }));
  EXPECT_TRUE(eventually([&rig] { return rig.view().in_flight == 0; }));
}

TEST_P(ClientLeaves, F51_after_a_pipelined_request) {
  std::atomic<bool> left{false};
  Rig rig([&left](EngineConnection& engine) {
    if (engine.read_request()) left = engine.left();
  });
  RawClient client = rig.connect();
  client.send(request("POST", "/v1/x", "{}") + request("GET", "/v1/next"));
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 1; }));
  leave(client, GetParam());
  EXPECT_TRUE(eventually([&left] { return left.load(); }));
  EXPECT_EQ(rig.engine().requests(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Ways, ClientLeaves, testing::Values(Leaving::fin, Leaving::rst, Leaving::half));

TEST(Client, F51_while_its_body_is_half_sent) {
  std::atomic<bool> left{false};
  Rig rig([&left](EngineConnection& engine) {
    if (engine.read_head()) left = engine.left();
  });
  RawClient client = rig.connect();
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{\"model\":\"batch\"," +
              std::string(90'000, ' '));
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&left] { return left.load(); }));
}

TEST(Client, F67_pipelined_requests_in_order_none_lost) {
  Rig rig([](EngineConnection& engine) {
    while (engine.read_request() &&
           engine.answer(engine.head.substr(0, engine.head.find(" HTTP")) + "|" + engine.body)) {
    }
  });
  RawClient client = rig.connect();
  client.send(
      request("POST", "/v1/1", "{\"n\":1}") + request("GET", "/v1/2") + request("GET", "/v1/models") +
      "POST /v1/3 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nT: x\r\n\r\n" +
      request("GET", "/v1/4"));
  EXPECT_EQ(client.reply().body, "POST /v1/1|{\"n\":1}");
  EXPECT_EQ(client.reply().body, "GET /v1/2|");
  EXPECT_NE(client.reply().body.find("\"batch\""), std::string::npos);
  EXPECT_EQ(client.reply().body, "POST /v1/3|{}");
  EXPECT_EQ(client.reply().body, "GET /v1/4|");
  EXPECT_EQ(rig.engine().connections(), 1) << "one connection to the engine serves them all";
}

TEST(Client, F63_expect_is_answered_after_the_checks) {
  Rig rig;
  RawClient client = rig.connect();
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.reply().status, 100);
  client.send("{}");
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(rig.engine().heads().at(0).find("Expect"), std::string::npos);
  rig.publish(2, [](Snapshot& snapshot) {
    snapshot.route.reset();
    snapshot.phase = Phase::loading;
  });
  RawClient early = rig.connect();
  early.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(early.reply().status, 503) << "the body is never asked for";
}

TEST(Client, F60_bodies_over_the_limit) {
  Settings settings = two_profiles();
  settings.proxy.max_body_bytes = 100'000;
  Rig rig(answer_ok, settings);
  const Reply early = rig.ask("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100001\r\n\r\n");
  EXPECT_EQ(early.status, 413);
  EXPECT_NE(early.body.find("proxy.max_body_bytes"), std::string::npos) << early.body;
  EXPECT_EQ(rig.engine().requests(), 0U);
  std::string chunks = "POST /v1/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 4; ++i) chunks += "7530\r\n" + std::string(30'000, 'x') + "\r\n";
  EXPECT_EQ(rig.ask(chunks).status, 413);
  EXPECT_EQ(rig.ask(request("POST", "/v1/x", std::string(100'000, ' '))).status, 200) << "exactly the limit";
}

TEST(Client, F61_slow_and_idle_clients_end) {
  proxy::Limits limits;
  limits.idle = limits.head = limits.body_patience = milliseconds(200);
  Rig rig(answer_ok, two_profiles(), limits);
  RawClient idle = rig.connect();
  RawClient slow_head = rig.connect();
  slow_head.send("POST /v1/x HTTP/1.1\r\nHost: loc");
  RawClient slow_body = rig.connect();
  slow_body.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"mo");
  RawClient late_body = rig.connect();
  late_body.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"model\":\"batch\",");
  for (RawClient* client : {&idle, &slow_head, &slow_body, &late_body}) EXPECT_NE(client->end(), End::open);
  EXPECT_TRUE(eventually([&rig] { return rig.view().in_flight == 0; }));
  EXPECT_EQ(rig.ask(request("GET", "/v1/x")).status, 200);
}

TEST(Client, too_much_at_once_is_429) {
  proxy::Limits limits;
  limits.in_flight = 1;
  std::atomic<bool> go{false};
  Rig rig(
      [&go](EngineConnection& engine) {
        while (engine.read_request()) {
          eventually([&go] { return go.load(); });
          if (!engine.answer("{}")) return;
        }
      },
      two_profiles(), limits);
  std::vector<RawClient> clients;
  for (int i = 0; i < 8; ++i) {  // more than there may be loops
    clients.push_back(rig.connect());
    clients.back().send(request("POST", "/v1/x", "{}"));
  }
  const Reply refused = clients.back().reply();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.field("Retry-After"), "5");
  EXPECT_NE(refused.body.find("too_many_requests"), std::string::npos);
  go = true;
  EXPECT_EQ(clients.front().reply().status, 200);
}

class Keys : public testing::Test {
 protected:
  Keys() : file_("/tmp/k3d-keys-" + std::to_string(::getpid())) { write("alice " + sha256_hex("sk-canary-1") + "\n"); }
  ~Keys() override { std::filesystem::remove(file_); }
  void write(const std::string& text) { std::ofstream(file_, std::ios::trunc) << text; }
  [[nodiscard]] Settings settings() const {
    Settings out = two_profiles();
    out.proxy.api_keys_file = file_;
    return out;
  }
  static std::string with(const std::string& line) { return request("POST", "/v1/x", "{}", line); }

  std::filesystem::path file_;
};

TEST_F(Keys, F96_checked_and_never_passed_on) {
  Rig rig(answer_ok, settings());
  for (const char* line :
       {"", "Authorization: Bearer sk-wrong\r\n", "X-Api-Key: sk-wrong\r\n", "Authorization: Basic sk-canary-1\r\n"}) {
    const Reply reply = rig.ask(with(line));
    EXPECT_EQ(reply.status, 401) << line;
    EXPECT_NE(reply.body.find("\"error\""), std::string::npos) << reply.body;
    EXPECT_EQ(reply.body.find("sk-"), std::string::npos) << "keys are not repeated";
  }
  EXPECT_EQ(rig.engine().requests(), 0U);
  EXPECT_EQ(
      rig.ask(with("Authorization: Bearer sk-canary-1\r\nX-Api-Key: sk-canary-1\r\nCookie: sk-canary-1\r\n")).status,
      200);
  EXPECT_EQ(rig.ask(with("X-Api-Key: sk-canary-1\r\n")).status, 200);
  for (const std::string& head : rig.engine().heads()) EXPECT_EQ(head.find("canary"), std::string::npos) << head;
}

TEST_F(Keys, a_key_opens_every_host_and_nothing_opens_without_one) {
  Rig rig(answer_ok, settings());
  RawClient client = rig.connect();
  client.send("GET /v1/models HTTP/1.1\r\nHost: anything.example\r\nX-Api-Key: sk-canary-1\r\n\r\n");
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(rig.ask(request("GET", "/v1/models")).status, 401);
  EXPECT_EQ(rig.ask(request("GET", "/health")).status, 401);
}

TEST_F(Keys, a_changed_file_is_read_again_and_a_broken_one_is_not_taken) {
  Rig rig(answer_ok, settings());
  write("bob " + sha256_hex("sk-2") + "\nalice " + sha256_hex("sk-canary-1") + "\n");
  EXPECT_TRUE(eventually([&rig] { return rig.ask(with("X-Api-Key: sk-2\r\n")).status == 200; }));
  write("broken\n");
  std::this_thread::sleep_for(milliseconds(1200));  // longer than the file's look-ups are apart
  EXPECT_EQ(rig.ask(with("X-Api-Key: sk-2\r\n")).status, 200);
}

TEST_F(Keys, F96_a_mistake_in_the_file_keeps_k3d_from_starting) {
  write("alice sk-plain\n");
  EXPECT_THROW(Rig(answer_ok, settings()), std::runtime_error);
}

TEST(Names, other_profiles_are_409_with_the_body_read_only_as_far_as_needed) {
  Rig rig;
  const Reply reply = rig.ask(request("POST", "/v1/chat/completions", "{\"model\":\"small\"}"));
  EXPECT_EQ(reply.status, 409);
  EXPECT_NE(reply.body.find("profile_not_active"), std::string::npos);
  EXPECT_EQ(
      rig.ask("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{\"model\":\"fast\",").status,
      409);
  EXPECT_EQ(rig.engine().requests(), 0U);
  for (const char* name : {"batch", "big", "kimi-k3", "unknown"}) {
    const std::string body = "{\"model\":\"" + std::string(name) + "\"}";
    EXPECT_EQ(rig.ask(request("POST", "/v1/x", body)).status, 200) << name;
  }
}

TEST(Origins, only_the_configured_ones) {
  Settings settings = two_profiles();
  settings.proxy.cors_origins = {"https://chat.example"};
  Rig rig(
      [](EngineConnection& engine) {
        while (engine.read_request() && engine.answer("{}", "Access-Control-Allow-Origin: https://evil.example\r\n")) {
        }
      },
      settings);
  EXPECT_EQ(
      rig.ask(request("POST", "/v1/x", "{}", "Origin: https://chat.example\r\n")).field("Access-Control-Allow-Origin"),
      "https://chat.example");
  EXPECT_FALSE(
      rig.ask(request("POST", "/v1/x", "{}", "Origin: https://evil.example\r\n")).has("Access-Control-Allow-Origin"));
  const Reply preflight = rig.ask(request("OPTIONS", "/v1/x", {}, "Origin: https://chat.example\r\n"));
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.field("Access-Control-Allow-Origin"), "https://chat.example");
  EXPECT_FALSE(
      rig.ask(request("OPTIONS", "/v1/x", {}, "Origin: https://evil.example\r\n")).has("Access-Control-Allow-Origin"));
  EXPECT_EQ(rig.engine().requests(), 2U);
}

}  // namespace
}  // namespace k3d::test
