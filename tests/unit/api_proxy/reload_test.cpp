// What a reload changes at the door without a restart, and what it leaves alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/base/sha256.hpp"
#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

const std::string kPost = request("POST", "/v1/x", "{}");

class Reload : public testing::Test {
 protected:
  Reload() : file_("/tmp/k3d-reload-keys-" + std::to_string(::getpid())) {
    std::ofstream(file_) << "alice " << sha256_hex("sk-alice") << "\n";
  }
  ~Reload() override { std::filesystem::remove(file_); }
  [[nodiscard]] Settings keyed() const {
    Settings settings = two_profiles();
    settings.proxy.api_keys_file = file_;
    return settings;
  }
  static std::string with_key(std::string_view key) {
    return request("POST", "/v1/x", "{}", "X-Api-Key: " + std::string(key) + "\r\n");
  }

  std::filesystem::path file_;
};

TEST_F(Reload, keys_are_asked_for_from_then_on) {
  Rig rig;
  EXPECT_EQ(rig.ask(kPost).status, 200);
  ASSERT_TRUE(rig.use(keyed()).has_value());
  EXPECT_EQ(rig.ask(kPost).status, 401);
  EXPECT_EQ(rig.ask(with_key("sk-alice")).status, 200);
  ASSERT_TRUE(rig.use(two_profiles()).has_value());
  EXPECT_EQ(rig.ask(kPost).status, 200) << "and the addresses that it listens on are still its own";
}

TEST_F(Reload, keys_that_cannot_be_read_change_nothing) {
  Rig rig(answer_ok, keyed());
  Settings broken = keyed();
  broken.proxy.api_keys_file = "/nonexistent/keys";
  broken.proxy.max_body_bytes = 1;
  const Status refused = rig.use(broken);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().text().find("/nonexistent/keys"), std::string::npos) << refused.error().text();
  EXPECT_EQ(rig.ask(with_key("sk-alice")).status, 200);
  EXPECT_EQ(rig.ask(kPost).status, 401);
}

TEST_F(Reload, keys_are_not_given_up_for_addresses_that_it_does_not_listen_on_yet) {
  Rig rig(answer_ok, keyed());
  Settings moved = two_profiles();
  moved.proxy.listen = {"127.0.0.1:1"};
  EXPECT_FALSE(rig.use(moved).has_value());
  EXPECT_EQ(rig.ask(kPost).status, 401);
}

TEST_F(Reload, limits_paths_and_origins_are_taken_up) {
  Rig rig;
  EXPECT_EQ(rig.ask(request("GET", "/slots")).status, 404);
  EXPECT_FALSE(
      rig.ask(request("POST", "/v1/x", "{}", "Origin: https://a.example\r\n")).has("Access-Control-Allow-Origin"));
  Settings settings = two_profiles();
  settings.proxy.max_body_bytes = 3;
  settings.proxy.expose = Expose::all;
  settings.proxy.cors_origins = {"https://a.example"};
  settings.control.allowed_hosts = {"k3d.example"};
  ASSERT_TRUE(rig.use(settings).has_value());
  EXPECT_EQ(rig.ask(request("GET", "/slots")).status, 200);
  EXPECT_EQ(rig.ask(request("POST", "/v1/x", "1234")).status, 413);
  EXPECT_TRUE(
      rig.ask(request("POST", "/v1/x", "{}", "Origin: https://a.example\r\n")).has("Access-Control-Allow-Origin"));
  EXPECT_EQ(rig.ask("GET /v1/x HTTP/1.1\r\nHost: k3d.example\r\n\r\n").status, 200);
}

TEST_F(Reload, a_request_keeps_to_the_rules_that_it_met) {
  Rig rig;
  RawClient client = rig.connect();
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(client.reply().status, 100);
  Settings settings = keyed();
  settings.proxy.max_body_bytes = 3;
  ASSERT_TRUE(rig.use(settings).has_value());
  client.send("123456789");
  EXPECT_EQ(client.reply().status, 200);
  client.send(kPost);
  EXPECT_EQ(client.reply().status, 401) << "the next one of the same connection meets the new ones";
}

TEST_F(Reload, under_load_every_request_is_answered_by_one_set_of_rules) {
  Rig rig;
  std::atomic<bool> over{false};
  std::atomic<int> odd{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&rig, &over, &odd] {
      while (!over) {
        const int status = rig.ask(kPost).status;
        if (status != 200 && status != 401) ++odd;
      }
    });
  }
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(rig.use(i % 2 == 0 ? keyed() : two_profiles()).has_value());
  over = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(odd, 0);
}

TEST(Loops, all_of_them_answer) {
  Rig rig;
  EXPECT_TRUE(rig.answered());
  rig.stop(seconds(0));
  EXPECT_TRUE(rig.answered()) << "none is left to ask";
}

}  // namespace
}  // namespace k3d::test
