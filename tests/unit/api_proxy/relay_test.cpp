// Engines that answer in every way, or break off in every way.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

/// An engine that answers each request with these bytes, and closes after it if `close`.
FakeEngine::Script says(std::string bytes, bool close = false) {
  return [bytes = std::move(bytes), close](EngineConnection& engine) {
    while (engine.read_request() && engine.send(bytes) && !close) {
    }
  };
}

const std::string kGet = request("GET", "/v1/x");
const std::string kPost = request("POST", "/v1/x", "{}");
const std::string kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(Relay, lengths_both_ways) {
  std::string seen;
  Rig rig([&seen](EngineConnection& engine) {
    while (engine.read_request()) {
      seen = engine.body;
      engine.answer("{\"answer\":1}", "X-Mine: yes\r\n");
    }
  });
  const Reply reply = rig.ask(request("POST", "/v1/chat/completions?a=b", "{\"prompt\":\"hi\"}"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "{\"answer\":1}");
  EXPECT_EQ(reply.field("X-Mine"), "yes");
  EXPECT_TRUE(rig.engine().heads().at(0).starts_with("POST /v1/chat/completions?a=b HTTP/1.1\r\n"));
  EXPECT_EQ(seen, "{\"prompt\":\"hi\"}");
}

TEST(Relay, chunks_both_ways) {
  std::string seen;
  Rig rig([&seen](EngineConnection& engine) {
    while (engine.read_request()) {
      seen = engine.body;
      engine.send(kChunkedHead + "3\r\nabc\r\n");
      engine.send("2\r\nde\r\n0\r\n\r\n");
    }
  });
  RawClient client = rig.connect();
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.send("7;ext=1\r\n{\"a\": \"\r\n");
  client.send("4\r\nbc\"}\r\n0\r\nTrailer: x\r\n\r\n");
  const Reply reply = client.reply();
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body, "abcde");
  EXPECT_EQ(seen, "{\"a\": \"bc\"}");
}

TEST(Relay, F62_old_clients_get_no_chunks) {
  Rig rig(says(kChunkedHead + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
  RawClient client = rig.connect();
  client.send("GET /v1/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const Reply reply = client.reply();
  EXPECT_FALSE(reply.has("Transfer-Encoding"));
  EXPECT_EQ(reply.field("Connection"), "close");
  EXPECT_EQ(reply.body, "abcde");
  EXPECT_TRUE(reply.complete);
  Rig counted;
  RawClient kept = counted.connect();
  for (int i = 0; i < 2; ++i) {
    kept.send("GET /v1/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(kept.reply().field("Connection"), "keep-alive");
  }
  kept.send("GET /v1/x HTTP/1.0\r\n\r\n");
  EXPECT_EQ(kept.reply().field("Connection"), "close");
  EXPECT_EQ(kept.end(), End::closed);
}

TEST(Relay, F66_a_body_until_close_becomes_chunks) {
  Rig rig(says("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it", true));
  const Reply reply = rig.ask(kGet);
  EXPECT_EQ(reply.field("Transfer-Encoding"), "chunked");
  EXPECT_EQ(reply.body, "all of it");
  EXPECT_TRUE(reply.complete);
}

TEST(Relay, F66_ambiguous_answers_are_502) {
  for (const char* answer :
       {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nab", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab",
        "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "SSH-2.0\r\n\r\n"}) {
    Rig rig(says(answer));
    const Reply reply = rig.ask(kPost);
    EXPECT_EQ(reply.status, 502) << answer;
    EXPECT_NE(reply.body.find("upstream_failed"), std::string::npos) << reply.body;
    EXPECT_EQ(rig.engine().requests(), 1U) << "asked once";
  }
  Rig huge(says("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"));
  EXPECT_EQ(huge.ask(kPost).status, 502);
}

TEST(Relay, F65_answers_without_bodies_never_desync) {
  Rig rig([](EngineConnection& engine) {
    while (engine.read_request()) {
      if (engine.head.starts_with("HEAD")) engine.send("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
      if (engine.head.find("/v1/204") != std::string::npos) engine.send("HTTP/1.1 204 No Content\r\n\r\n");
      if (engine.head.find("/v1/304") != std::string::npos)
        engine.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
      if (engine.head.find("/v1/early") != std::string::npos) {
        engine.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
        engine.answer("{}");
      }
    }
  });
  RawClient client = rig.connect();
  client.send(request("HEAD", "/v1/x"));
  EXPECT_EQ(client.reply(true).field("Content-Length"), "500");
  for (const int status : {204, 304}) {
    client.send(request("GET", "/v1/" + std::to_string(status)));
    EXPECT_EQ(client.reply().status, status);
  }
  client.send(request("GET", "/v1/early"));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200) << "interim answers stay on their hop";
  EXPECT_EQ(reply.body, "{}");
}

TEST(Relay, F64_upgrades_are_not_passed_on) {
  Rig rig;
  const Reply reply = rig.ask(
      request("GET", "/v1/x", {}, "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"));
  EXPECT_EQ(reply.status, 200);
  for (const char* word : {"Upgrade", "h2c", "HTTP2"}) {
    EXPECT_EQ(rig.engine().heads().at(0).find(word), std::string::npos) << word;
  }
}

TEST(Relay, F54_what_breaks_off_is_never_completed) {
  for (const char* answer : {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\npart",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"}) {
    Rig rig(says(answer, true));
    const Reply reply = rig.ask(kPost);
    EXPECT_EQ(reply.status, 200) << answer;
    EXPECT_FALSE(reply.complete) << answer;
    RawClient old = rig.connect();
    old.send("POST /v1/x HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}");
    EXPECT_FALSE(old.reply().complete) << "an old client sees a reset: " << answer;
    EXPECT_EQ(rig.engine().requests(), 2U) << "nothing is asked again";
  }
}

TEST(Relay, F54_malformed_chunks_are_502_at_the_beginning_and_cut_later) {
  std::atomic<bool> go{false};
  Rig rig([&go](EngineConnection& engine) {
    if (!engine.read_request()) return;
    const bool late = engine.head.find("/v1/late") != std::string::npos;
    engine.send(kChunkedHead + (late ? "4\r\npart\r\n" : "4\r\npart\r\nzz\r\n"));
    eventually([&go, late] { return go || !late; });
    if (late) engine.send("zz\r\n");
    engine.left();
  });
  EXPECT_EQ(rig.ask(kPost).status, 502);
  RawClient client = rig.connect();
  client.send(request("POST", "/v1/late", "{}"));
  std::string got = client.some();
  go = true;
  got += client.all();
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200 ")) << got;
  EXPECT_TRUE(got.ends_with("4\r\npart\r\n")) << got;
}

TEST(Relay, F55_no_answer_at_all_is_502) {
  Rig rig([](EngineConnection& engine) { engine.read_request(); });
  for (const std::string& ask : {kPost, kGet}) {
    const Reply reply = rig.ask(ask);
    EXPECT_EQ(reply.status, 502);
    EXPECT_NE(reply.body.find("\"error\""), std::string::npos) << reply.body;
  }
  EXPECT_EQ(rig.engine().requests(), 2U) << "a fresh connection that fails is not tried again";
}

TEST(Relay, F55_half_a_head_is_502_and_not_asked_again) {
  Rig rig([](EngineConnection& engine) {
    if (engine.number == 0 && engine.read_request()) engine.answer("{}");
    if (engine.read_request()) engine.send("HTTP/1.1 200 OK\r\nContent-Le");
  });
  EXPECT_EQ(rig.ask(kGet).status, 200);
  EXPECT_EQ(rig.ask(kGet).status, 502);
  EXPECT_EQ(rig.engine().requests(), 2U);
}

TEST(Relay, F56_idle_connections_that_the_engine_has_closed) {
  Rig rig([](EngineConnection& engine) {
    if (engine.read_request()) engine.answer("{}");  // and closes it, saying nothing
  });
  RawClient client = rig.connect();
  for (int i = 0; i < 200; ++i) {
    client.send(i % 2 == 0 ? kPost : kGet);
    ASSERT_EQ(client.reply().status, 200) << i;
    ASSERT_TRUE(eventually([&rig] { return rig.engine().open() == 0; }));
  }
}

TEST(Relay, F56_closed_at_the_moment_of_asking) {
  // The second request on a connection is read and never answered: it may have been done.
  const auto script = [](EngineConnection& engine) {
    if (engine.read_request() && engine.answer("{}")) engine.read_request();
  };
  Rig gets(script);
  RawClient client = gets.connect();
  client.send(kGet);
  EXPECT_EQ(client.reply().status, 200);
  client.send(kGet);
  EXPECT_EQ(client.reply().status, 200) << "a GET is asked once more";
  EXPECT_EQ(gets.engine().requests(), 3U);
  Rig posts(script);
  RawClient poster = posts.connect();
  poster.send(kPost);
  EXPECT_EQ(poster.reply().status, 200);
  poster.send(kPost);
  EXPECT_EQ(poster.reply().status, 502) << "a POST is not";
  EXPECT_EQ(posts.engine().requests(), 2U);
}

TEST(Relay, F55_an_engine_that_is_not_there) {
  Rig rig;
  rig.publish(2, [](Snapshot& snapshot) { snapshot.route->address.unix_path = "/tmp/k3d-nobody.sock"; });
  EXPECT_EQ(rig.ask(kPost).status, 502);
}

TEST(Relay, F68_an_answer_before_the_body_is_read) {
  Rig rig([](EngineConnection& engine) {
    if (engine.read_head())
      engine.send("HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlarge");
  });
  RawClient client = rig.connect();
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n{\"model\":\"batch\",");
  for (int i = 0; i < 20; ++i) client.send(std::string(100'000, ' '));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.body, "large");
  EXPECT_NE(client.end(), End::open);
}

TEST(Relay, F68_the_client_learns_that_its_connection_ends) {
  Rig rig([](EngineConnection& engine) {
    if (engine.read_head()) engine.answer("{}");
    engine.left();
  });
  RawClient client = rig.connect();
  client.send("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n{\"model\":\"batch\",");
  EXPECT_EQ(client.reply().field("Connection"), "close");
}

TEST(Relay, F68_a_connection_with_half_a_request_in_it_is_not_used_again) {
  // The engine answers before it reads; around the size of the socket's buffer the body is read, but not all written.
  for (std::size_t size = 100'000; size < 500'000; size += 16'000) {
    std::atomic<bool> answered{false};
    Rig rig([&answered](EngineConnection& engine) {
      while (engine.read_head()) {
        std::size_t come = 0;
        eventually([&engine, &come] {
          const std::size_t before = come;
          std::this_thread::sleep_for(milliseconds(20));
          come = engine.waiting();
          return come == before;
        });
        if (!engine.answer("{}")) return;
        eventually([&answered] { return answered.load(); });
        if (!engine.read_body()) return;
      }
    });
    EXPECT_EQ(rig.ask(request("POST", "/v1/x", "{}" + std::string(size, ' '))).status, 200);
    answered = true;
    EXPECT_EQ(rig.ask(request("POST", "/v1/x", "{}")).status, 200) << size;
    EXPECT_EQ(rig.engine().requests(), 2U) << size;
  }
}

TEST(Relay, F57_503_within_milliseconds_while_loading) {
  Rig rig;
  rig.publish(2, [](Snapshot& snapshot) {
    snapshot.route.reset();
    snapshot.active_profile.clear();
    snapshot.phase = Phase::loading;
    snapshot.load.eta_seconds = 90;
  });
  RawClient client = rig.connect();
  const auto begun = std::chrono::steady_clock::now();
  client.send(kPost);
  const Reply reply = client.reply();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, milliseconds(500));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.field("Retry-After"), "90");
  EXPECT_NE(reply.body.find("model_loading"), std::string::npos);
  EXPECT_EQ(rig.ask(request("GET", "/v1/models")).status, 200) << "models are listed all the same";
  EXPECT_EQ(rig.engine().requests(), 0U);
}

}  // namespace
}  // namespace k3d::test
