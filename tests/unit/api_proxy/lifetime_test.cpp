// The proxy's end with connections in every phase, and what stays behind after many requests.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

const std::string kPost = request("POST", "/v1/x", "{}");

/// Does what the path says.
void by_path(EngineConnection& engine) {
  while (engine.read_head()) {
    const auto asked = [&engine](const char* path) { return engine.head.find(path) != std::string::npos; };
    if (asked("/v1/unread")) {
      engine.left();
      return;
    }
    if (!engine.read_body()) return;
    if (asked("/v1/silent")) {
      engine.left();
      return;
    }
    if (asked("/v1/broken")) {
      engine.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
      return;
    }
    if (asked("/v1/stream")) {
      engine.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      while (engine.send("4\r\ndata\r\n") && !engine.left(milliseconds(1))) {
      }
      return;
    }
    if (asked("/v1/flood")) {
      engine.send("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
      while (engine.send(std::string(65'536, 'x'))) {
      }
      return;
    }
    if (!engine.answer("{}")) return;
  }
}

/// What a client has said when the proxy ends; each leaves its session at another wait.
std::vector<std::string> phases() {
  return {
      "",
      "POST /v1/x HT",
      "POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{\"mo",
      "POST /v1/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1",
      "POST /v1/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
      "POST /v1/silent HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{\"model\":\"big\"",
      "POST /v1/unread HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n[" + std::string(1'000'000, ' '),
      request("POST", "/v1/silent", "{}"),
      request("POST", "/v1/silent", "{}") + kPost,
      request("POST", "/v1/stream", "{}"),
      request("GET", "/v1/flood"),
      "GET /v1/stream HTTP/1.0\r\n\r\n",
      request("GET", "/slots"),
      "BREW /pot HTTP/1.1\r\n\r\n",
      kPost};
}

TEST(End, with_connections_in_every_phase) {
  for (int round = 0; round < 12; ++round) {
    Rig rig(by_path);
    std::vector<RawClient> clients;
    for (const std::string& said : phases()) {
      clients.push_back(rig.connect(4096));
      clients.back().send(said);
    }
    // From the very beginning of a session's life to the middle of its answer.
    if (round % 3 == 1) EXPECT_TRUE(eventually([&rig] { return rig.engine().requests() >= 3; }));
    if (round % 3 == 2) EXPECT_TRUE(eventually([&rig] { return rig.engine().requests() == 8; }));
    const auto begun = std::chrono::steady_clock::now();
    rig.stop(seconds(0));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(4)) << round;
    for (RawClient& client : clients) EXPECT_NE(client.end(), End::open);
  }
}

TEST(End, while_waiting_for_an_engine_that_accepts_nobody) {
  const std::string path = "/tmp/k3d-deaf-" + std::to_string(::getpid()) + ".sock";
  ::unlink(path.c_str());
  const int deaf = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(deaf, reinterpret_cast<const sockaddr*>(&un), sizeof un), 0);
  ASSERT_EQ(::listen(deaf, 0), 0);
  {
    Rig rig;
    rig.publish(2, [&path](Snapshot& snapshot) { snapshot.route->address.unix_path = path; });
    std::vector<RawClient> clients;
    for (int i = 0; i < 4; ++i) {
      clients.push_back(rig.connect());
      clients.back().send(kPost);
    }
    EXPECT_TRUE(eventually([&rig] { return rig.view().in_flight == 4; }));
    rig.cut(3);
    EXPECT_TRUE(rig.drain(3, seconds(4))) << "a cut ends those that wait for a connection too";
    for (RawClient& client : clients) EXPECT_EQ(client.reply().status, 503);
    clients.push_back(rig.connect());
    clients.back().send(kPost);
    clients.push_back(rig.connect());
    clients.back().send(kPost);
    EXPECT_TRUE(eventually([&rig] { return rig.view().in_flight == 2; }));
    const auto begun = std::chrono::steady_clock::now();
    rig.stop(seconds(0));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(4));
  }
  ::close(deaf);
  ::unlink(path.c_str());
}

TEST(End, while_a_switch_drains) {
  Rig rig(by_path);
  RawClient client = rig.connect();
  client.send(request("POST", "/v1/silent", "{}"));
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 1; }));
  std::thread draining([&rig] { rig.drain(2, seconds(60)); });
  std::thread cutting([&rig] { rig.cut(1); });
  rig.stop(seconds(0));
  draining.join();
  cutting.join();
  EXPECT_NE(client.end(), End::open);
}

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

TEST(End, nothing_stays_behind_after_many_requests) {
  Rig rig(by_path);
  EXPECT_EQ(rig.ask(kPost).status, 200);
  EXPECT_TRUE(eventually([&rig] { return rig.engine().open() == 0; })) << "the idle connection is closed after a while";
  const std::ptrdiff_t before = descriptors();
  for (int i = 0; i < 400; ++i) {
    EXPECT_EQ(rig.ask(kPost).status, 200);
    EXPECT_EQ(rig.ask(request("GET", "/slots")).status, 404);
    EXPECT_FALSE(rig.ask(request("POST", "/v1/broken", "{}")).complete);
    EXPECT_EQ(rig.ask("GET /v1/x HTTP/1.1\r\n\r\n").status, 400);
    RawClient leaving = rig.connect();
    leaving.send(request("POST", "/v1/stream", "{}"));
    EXPECT_NE(leaving.some(), "");
  }
  EXPECT_TRUE(eventually([&rig] { return rig.view().in_flight == 0; }));
  EXPECT_TRUE(eventually([before] { return descriptors() <= before; }))
      << before << " were open, now " << descriptors();
}

}  // namespace
}  // namespace k3d::test
