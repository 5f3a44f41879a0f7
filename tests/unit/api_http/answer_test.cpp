// How answers are written: streams, bodies that several share, statuses without a body, and what becomes of a handler
// whose client leaves or doesn't read.
#include <gtest/gtest.h>

#include "tests/unit/api_http/server_rig.hpp"

namespace k3d::api {
namespace {

using test::End;
using test::RawClient;
using test::Reply;
using test::request;

TEST_F(ServerTest, F65_statuses_without_a_body_keep_the_connection_in_step) {
  RawClient client = local();
  client.send(request("GET", "/status/204") + request("GET", "/status/304") + request("HEAD", "/status/200") +
              request("GET", "/things/next"));
  for (const int status : {204, 304}) {
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, status);
    EXPECT_FALSE(reply.has("Content-Length"));
  }
  EXPECT_EQ(client.reply(true).field("Content-Length"), "41");
  EXPECT_EQ(client.reply().body, "next");
}

TEST_F(ServerTest, one_body_goes_to_many_without_a_copy) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(request("GET", "/shared")).body, "one body for everyone");
  EXPECT_TRUE(test::eventually([this] { return shared_.use_count() == 1; })) << "nobody holds on to it";
}

TEST_F(ServerTest, a_second_answer_is_not_sent_as_that_to_the_next_request) {
  RawClient client = local();
  client.send(request("GET", "/twice") + request("GET", "/things/next"));
  EXPECT_EQ(client.reply().body, "first");
  EXPECT_EQ(client.all(), "");
  EXPECT_NE(client.end(), End::open);
}

TEST_F(ServerTest, F17_an_exception_in_the_middle_of_a_stream_breaks_it_off) {
  RawClient client = local();
  client.send(request("GET", "/stream/broken"));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.complete) << "half an answer must not look whole";
  EXPECT_NE(client.end(), End::open);
  EXPECT_EQ(ask(request("GET", "/livez")).status, 200);
}

TEST_F(ServerTest, a_client_that_leaves_a_stream_ends_its_handler) {
  for (const bool hard : {false, true}) {
    RawClient client = tcp();
    client.send(request("GET", "/endless", {}, "Authorization: Bearer read-token\r\n"));
    ASSERT_NE(client.some(), "");
    ASSERT_EQ(waiting_, 1);
    if (hard) client.reset();
    client.close();
    EXPECT_TRUE(test::eventually([this] { return waiting_ == 0; }));
  }
}

TEST_F(ServerTest, a_client_that_half_closes_cancels_its_handler_and_what_it_sent_after) {
  RawClient client = local();
  client.send(request("GET", "/wait") + request("GET", "/things/next"));
  ASSERT_TRUE(test::eventually([this] { return waiting_ == 1; }));
  client.half_close();
  EXPECT_TRUE(test::eventually([this] { return waiting_ == 0; }));
  EXPECT_EQ(client.all(), "");
  EXPECT_EQ(served_, 0);
}

TEST_F(ServerTest, F53_a_client_that_does_not_read_holds_only_itself_and_not_for_ever) {
  ServerOptions options;
  options.write_limit = milliseconds(300);
  start(options);
  RawClient client = local();
  client.send(request("GET", "/endless"));
  ASSERT_TRUE(test::eventually([this] { return pieces_ > 0; }));
  EXPECT_EQ(ask(request("GET", "/livez")).status, 200) << "others are served meanwhile";
  EXPECT_TRUE(test::eventually([this] { return waiting_ == 0; }));
  EXPECT_LT(pieces_, 1000) << "it was not read into memory";
}

TEST_F(ServerTest, stop_ends_streams_at_once) {
  RawClient client = local();
  client.send(request("GET", "/endless"));
  ASSERT_TRUE(test::eventually([this] { return waiting_ == 1; }));
  const auto begun = std::chrono::steady_clock::now();
  stop(seconds(30));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(5));
  EXPECT_EQ(waiting_, 0);
}

TEST_F(ServerTest, F61_a_dripping_head_or_body_does_not_move_its_deadline) {
  ServerOptions options;
  options.head_deadline = milliseconds(300);
  options.body_deadline = milliseconds(300);
  start(options);
  for (const char* begin :
       {"GET /livez HTTP/1.1\r\nHost: a\r\nX: ",
        "POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n"}) {
    RawClient client = local();
    client.send(begin);
    const auto begun = std::chrono::steady_clock::now();
    while (client.send("x") && std::chrono::steady_clock::now() - begun < seconds(5)) client.some(milliseconds(20));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(4));
    EXPECT_EQ(ask(request("GET", "/livez")).status, 200);
  }
  EXPECT_EQ(served_, 2);
}

TEST_F(ServerTest, F60_a_large_body_gets_its_413_though_it_is_being_sent) {
  RawClient client = tcp();
  client.send(request("POST", "/things", std::string(8 * kMiB, 'x'), "Authorization: Bearer full-token\r\n"));
  EXPECT_EQ(client.reply().status, 413);
  EXPECT_EQ(served_, 0);
}

TEST_F(ServerTest, F64_no_upgrade) {
  for (const char* protocol : {"websocket", "h2c"}) {
    const Reply reply =
        ask(request("GET", "/livez", {}, "Connection: Upgrade\r\nUpgrade: " + std::string(protocol) + "\r\n"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_FALSE(reply.has("Upgrade"));
  }
}

TEST_F(ServerTest, F95_the_read_token_reads_and_strangers_learn_nothing_of_what_there_is) {
  const auto status_of = [this](const std::string& bytes) {
    RawClient client = tcp();
    client.send(bytes);
    return client.reply().status;
  };
  const std::string reader = "Authorization: Bearer read-token\r\n";
  EXPECT_EQ(status_of(request("GET", "/things/x", {}, reader)), 200);
  EXPECT_EQ(status_of(request("POST", "/things", "{}", reader)), 403);
  EXPECT_EQ(status_of(request("GET", "/nowhere", {}, reader)), 404);
  EXPECT_EQ(status_of(request("GET", "/nowhere")), 401);
  EXPECT_EQ(status_of(request("DELETE", "/livez")), 401);
  EXPECT_EQ(status_of("GET /things/x HTTP/1.0\r\n\r\n"), 401) << "without a Host too";
}

TEST_F(ServerTest, a_wrong_token_waits_and_delays_nobody_else) {
  ServerOptions options;
  options.failure_delay = milliseconds(1500);
  start(options);
  RawClient wrong = tcp();
  wrong.send(request("GET", "/things/x", {}, "Authorization: Bearer wrong\r\n"));
  const auto begun = std::chrono::steady_clock::now();
  RawClient right = tcp();
  right.send(request("GET", "/things/x", {}, "Authorization: Bearer full-token\r\n"));
  EXPECT_EQ(right.reply().status, 200);
  EXPECT_EQ(wrong.some(milliseconds(100)), "") << "the refusal comes later";
  EXPECT_EQ(wrong.reply().status, 401);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(1000));
}

TEST_F(ServerTest, methods_that_nothing_takes_are_told_which_are_served) {
  const Reply reply = ask("TRACE /livez HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.field("Allow"), "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH");
}

}  // namespace
}  // namespace k3d::api
