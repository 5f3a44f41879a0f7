// Streams: byte for byte, at once, and with bounded memory.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

const std::string kEvents = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& text) {
  char size[24];
  const int n = std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return std::string(size, static_cast<std::size_t>(n)) + text + "\r\n";
}

/// Resident memory of this process in bytes: the proxy's, the engine's and the client's together.
std::size_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t pages = 0;
  statm >> total >> pages;
  return pages * 4096;
}

TEST(Stream, each_event_arrives_before_the_next_is_made) {
  std::atomic<int> seen{0};
  Rig rig([&seen](EngineConnection& engine) {
    if (!engine.read_request()) return;
    engine.send(kEvents);
    for (int i = 1; i <= 20; ++i) {
      engine.send(chunk("data: " + std::to_string(i) + "\n\n"));
      if (!eventually([&seen, i] { return seen >= i; })) return;
    }
    engine.send("0\r\n\r\n");
  });
  RawClient client = rig.connect();
  client.send(request("POST", "/v1/x", "{\"stream\":true}"));
  std::string got;
  while (!got.ends_with("0\r\n\r\n")) {
    const std::string piece = client.some();
    ASSERT_NE(piece, "") << "stuck after " << seen;
    got += piece;
    for (int i = seen + 1; got.find("data: " + std::to_string(i) + "\n") != std::string::npos; ++i) seen = i;
  }
  EXPECT_EQ(seen, 20);
  EXPECT_NE(got.find("X-Accel-Buffering: no"), std::string::npos);
}

TEST(Stream, F69_huge_and_tiny_pieces_are_byte_exact) {
  std::string text = "data: ";
  for (std::size_t i = 0; text.size() < 8'000'000; ++i) text += std::to_string(i * 7919);
  text += "\n\ndata: glued\n\n";
  Rig rig([&text](EngineConnection& engine) {
    while (engine.read_request()) {
      engine.send(kEvents);
      std::string bytes = chunk(text) + "0\r\n\r\n";
      std::size_t step = bytes.size();
      if (engine.body == "\"tiny\"") {
        bytes = chunk(text.substr(0, 3000)) + chunk("\n\ndata: x") + "0\r\n\r\n";
        step = 1;
      }
      for (std::size_t at = 0; at < bytes.size(); at += step) engine.send(std::string_view(bytes).substr(at, step));
    }
  });
  const Reply huge = rig.ask(request("POST", "/v1/x", "\"huge\""));
  EXPECT_TRUE(huge.complete);
  EXPECT_TRUE(huge.body == text);
  const Reply tiny = rig.ask(request("POST", "/v1/x", "\"tiny\""));
  EXPECT_TRUE(tiny.complete);
  EXPECT_TRUE(tiny.body == text.substr(0, 3000) + "\n\ndata: x");
}

TEST(Stream, sixty_four_at_once_are_byte_exact) {
  Rig rig([](EngineConnection& engine) {
    while (engine.read_request()) {
      engine.send(kEvents);
      for (int i = 0; i < 200; ++i) engine.send(chunk("data: " + engine.body + " " + std::to_string(i) + "\n\n"));
      if (!engine.send("0\r\n\r\n")) return;
    }
  });
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 64; ++k) {
    threads.emplace_back([&rig, &right, k] {
      const std::string name = "\"stream " + std::to_string(k) + "\"";
      std::string wanted;
      for (int i = 0; i < 200; ++i) wanted += "data: " + name + " " + std::to_string(i) + "\n\n";
      RawClient client = rig.connect();
      for (int round = 0; round < 2; ++round) {
        client.send(request("POST", "/v1/x", name));
        const Reply reply = client.reply(false, milliseconds(60'000));
        if (reply.complete && reply.body == wanted) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 128);
}

TEST(Stream, F53_a_client_that_does_not_read_holds_the_engine_back) {
  std::atomic<std::size_t> sent{0};
  std::atomic<bool> stopped{false};
  Rig rig([&sent, &stopped](EngineConnection& engine) {
    if (!engine.read_request()) return;
    engine.send("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
    const std::string piece(65'536, 'x');
    while (sent < 1'073'741'824U && engine.send(piece)) sent += piece.size();
    stopped = true;
  });
  const std::size_t before = resident();
  RawClient client = rig.connect(4096);
  client.send(request("GET", "/v1/x"));
  ASSERT_TRUE(eventually([&sent] { return sent > 0; }));
  // Held back: no byte more in a quarter of a second, long before the gigabyte is through.
  std::size_t last = 0;
  ASSERT_TRUE(eventually([&sent, &last] {
    last = sent;
    std::this_thread::sleep_for(milliseconds(250));
    return sent == last;
  }));
  EXPECT_LT(sent, 32U * kMiB);
  EXPECT_LT(resident(), before + 64 * kMiB);
  EXPECT_FALSE(stopped);
  client.close();
  EXPECT_TRUE(eventually([&stopped] { return stopped.load(); }));
}

TEST(Stream, F53_and_is_dropped_in_the_end) {
  proxy::Limits limits;
  limits.write = milliseconds(300);
  std::atomic<bool> dropped{false};
  Rig rig(
      [&dropped](EngineConnection& engine) {
        if (!engine.read_request()) return;
        engine.send("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
        while (engine.send(std::string(65'536, 'x'))) {
        }
        dropped = true;
      },
      two_profiles(), limits);
  RawClient client = rig.connect(4096);
  client.send(request("GET", "/v1/x"));
  EXPECT_TRUE(eventually([&dropped] { return dropped.load(); }));
}

TEST(Stream, F60_a_large_body_is_streamed) {
  std::atomic<std::size_t> bytes{0};
  Rig rig([&bytes](EngineConnection& engine) {
    if (!engine.read_request()) return;
    bytes = engine.body.size();
    engine.answer("{}");
  });
  RawClient client = rig.connect();
  const std::string piece(1'000'000, 'x');
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n");
  for (int i = 0; i < 100; ++i) client.send(piece);
  EXPECT_EQ(client.reply(false, milliseconds(60'000)).status, 200);
  EXPECT_EQ(bytes, 100'000'000U);
}

TEST(Stream, F59_a_long_silence_before_the_first_byte_is_waited_for) {
  proxy::Limits limits;
  limits.idle = limits.head = limits.body_patience = limits.write = limits.linger = milliseconds(100);
  Rig rig(
      [](EngineConnection& engine) {
        if (!engine.read_request()) return;
        engine.left(milliseconds(1500));
        engine.answer("{}");
      },
      two_profiles(), limits);
  EXPECT_EQ(rig.ask(request("POST", "/v1/x", "{}")).status, 200);
}

}  // namespace
}  // namespace k3d::test
