// Drain and cut by generation, listening, stopping: the traffic as the supervisor sees it (F58).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

const std::string kPost = request("POST", "/v1/x", "{}");

void close_door(Snapshot& snapshot) {
  snapshot.route.reset();
  snapshot.phase = Phase::draining;
  snapshot.target_profile = "fast";
}

/// An engine whose answers wait for `go`.
FakeEngine::Script waits(std::atomic<bool>& go) {
  return [&go](EngineConnection& engine) {
    while (engine.read_request()) {
      eventually([&go] { return go.load(); }, milliseconds(60'000));
      if (!engine.answer("{}")) return;
    }
  };
}

TEST(Drain, waits_for_the_old_generation_only) {
  std::atomic<bool> go{false};
  Rig rig(waits(go));
  RawClient old = rig.connect();
  old.send(kPost);
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 1; }));
  rig.publish(2, close_door);
  EXPECT_FALSE(rig.drain(2, seconds(0))) << "one of generation 1 is in flight";
  EXPECT_EQ(rig.ask(kPost).status, 503) << "nobody gets in meanwhile";
  rig.publish(3);
  RawClient young = rig.connect();
  young.send(kPost);
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 2; }));
  EXPECT_TRUE(rig.drain(1, seconds(0))) << "none is older than generation 1";
  std::thread later([&go] { go = true; });
  EXPECT_TRUE(rig.drain(4, seconds(10)));
  later.join();
  EXPECT_EQ(old.reply().status, 200) << "a drained request is answered";
  EXPECT_EQ(young.reply().status, 200);
}

TEST(Cut, ends_what_is_older_silent_or_streaming_and_nothing_else) {
  std::atomic<bool> go{false};
  std::atomic<int> left{0};
  Rig rig([&go, &left](EngineConnection& engine) {
    while (engine.read_request()) {
      const bool streaming = engine.head.find("/v1/stream") != std::string::npos;
      if (streaming) engine.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
      if (engine.head.find("/v1/young") == std::string::npos) {
        left += engine.left() ? 1 : 0;
        return;
      }
      eventually([&go] { return go.load(); });
      engine.answer("{}");
    }
  });
  RawClient silent = rig.connect();
  silent.send(request("POST", "/v1/silent", "{}"));
  RawClient streaming = rig.connect();
  streaming.send(request("POST", "/v1/stream", "{}"));
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 2; }));
  rig.publish(2);
  RawClient young = rig.connect();
  young.send(request("POST", "/v1/young", "{}"));
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 3; }));
  rig.cut(2);
  EXPECT_TRUE(eventually([&left] { return left == 2; }));
  const Reply unanswered = silent.reply();
  EXPECT_EQ(unanswered.status, 503) << "no byte was answered: it is told to come again";
  EXPECT_EQ(unanswered.field("Retry-After"), "30");
  EXPECT_FALSE(streaming.reply().complete) << "never completed";
  EXPECT_TRUE(rig.drain(2, seconds(10)));
  go = true;
  EXPECT_EQ(young.reply().status, 200);
}

TEST(Cut, closes_idle_connections) {
  Rig rig;
  EXPECT_EQ(rig.ask(kPost).status, 200);
  EXPECT_EQ(rig.engine().open(), 1) << "kept for the next one";
  rig.cut(2);
  EXPECT_TRUE(eventually([&rig] { return rig.engine().open() == 0; }));
}

TEST(Cut, idle_connections_are_not_kept_longer_than_the_engine_keeps_them) {
  Rig rig;
  EXPECT_EQ(rig.ask(kPost).status, 200);
  EXPECT_TRUE(eventually([&rig] { return rig.engine().open() == 0; }, milliseconds(4500)));
}

TEST(Drain, F58_no_request_gets_through_after_a_drain) {
  std::atomic<bool> may{true};
  std::atomic<int> wrong{0};
  Rig rig([&may, &wrong](EngineConnection& engine) {
    while (engine.read_request()) {
      if (!may) ++wrong;
      if (!engine.answer("{}")) return;
    }
  });
  std::atomic<bool> over{false};
  std::atomic<int> answered{0};
  std::atomic<int> other{0};
  std::vector<std::thread> clients;
  for (int k = 0; k < 6; ++k) {
    clients.emplace_back([&rig, &over, &answered, &other] {
      RawClient client = rig.connect();
      while (!over) {
        client.send(kPost);
        const int status = client.reply().status;
        if (status == 200) ++answered;
        if (status != 200 && status != 503) ++other;
        if (status != 200) client = rig.connect();
      }
    });
  }
  std::uint64_t generation = 1;
  for (int round = 0; round < 40; ++round) {
    rig.publish(++generation, close_door);
    ASSERT_TRUE(rig.drain(generation, seconds(20)));
    may = false;
    std::this_thread::yield();
    may = true;
    rig.publish(++generation);
    const int before = answered;
    ASSERT_TRUE(eventually([&answered, before] { return answered > before; }));
  }
  over = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0) << "the engine was asked after the drain";
  EXPECT_EQ(other, 0) << "an answer that is neither 200 nor 503";
}

TEST(Proxy, view_counts_what_is_in_flight) {
  std::atomic<bool> go{false};
  Rig rig(waits(go));
  EXPECT_EQ(rig.view().listen, std::vector<std::string>{"127.0.0.1:" + std::to_string(rig.port())});
  RawClient client = rig.connect();
  client.send(kPost);
  EXPECT_TRUE(eventually([&rig] { return rig.view().in_flight == 1; }));
  go = true;
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_TRUE(eventually([&rig] { return rig.view().in_flight == 0; }));
}

TEST(Proxy, auto_listens_on_loopback) {
  for (int port = 18'000; port < 18'100; ++port) {
    Settings settings = two_profiles();
    settings.proxy.listen = {"auto:" + std::to_string(port)};
    try {
      Rig rig(answer_ok, settings);
      EXPECT_EQ(rig.view().listen.at(0), "127.0.0.1:" + std::to_string(port));
      EXPECT_EQ(rig.ask(kPost).status, 200);
      return;
    } catch (const std::runtime_error&) {
      continue;  // another program's port
    }
  }
  FAIL() << "no port was free";
}

TEST(Proxy, an_address_in_use_is_named) {
  Rig first;
  Settings settings = two_profiles();
  settings.proxy.listen = {"127.0.0.1:" + std::to_string(first.port())};
  try {
    Rig second(answer_ok, settings);
    FAIL() << "two proxies share a port";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("127.0.0.1:" + std::to_string(first.port())), std::string::npos) << e.what();
  }
}

TEST(Stop, lets_answers_finish_and_ends_idle_connections) {
  std::atomic<bool> go{false};
  Rig rig(waits(go));
  RawClient idle = rig.connect();
  idle.send(request("GET", "/v1/models"));
  EXPECT_EQ(idle.reply().status, 200);
  RawClient busy = rig.connect();
  busy.send(kPost);
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 1; }));
  std::thread stopping([&rig] { rig.stop(seconds(20)); });
  EXPECT_NE(idle.end(), End::open);
  go = true;
  const Reply reply = busy.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Connection"), "close");
  stopping.join();
}

TEST(Stop, a_client_that_has_just_connected_is_still_answered) {
  Rig rig;
  RawClient fresh = rig.connect();
  RawClient silent = rig.connect();
  RawClient used = rig.connect();
  used.send(kPost);
  EXPECT_EQ(used.reply().status, 200) << "so those before it are taken too";
  std::thread stopping([&rig] { rig.stop(seconds(20)); });
  EXPECT_NE(used.end(), End::open);
  fresh.send(kPost);
  const Reply reply = fresh.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Connection"), "close");
  EXPECT_NE(silent.end(), End::open) << "but not for ever";
  fresh.close();
  stopping.join();
}

TEST(Stop, ends_everything_at_its_limit) {
  std::atomic<bool> go{false};
  Rig rig(waits(go));
  RawClient busy = rig.connect();
  busy.send(kPost);
  ASSERT_TRUE(eventually([&rig] { return rig.engine().requests() == 1; }));
  rig.stop(seconds(0));
  EXPECT_NE(busy.end(), End::open);
  go = true;
}

}  // namespace
}  // namespace k3d::test
