// The server over real sockets: what raw clients get, and what the handlers saw.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/api_http/server_rig.hpp"

namespace k3d::api {
namespace {

using test::End;
using test::RawClient;
using test::Reply;
using test::request;

TEST_F(ServerTest, answers_on_the_unix_socket_without_a_token) {
  const Reply reply = ask(request("GET", "/things/my%20one", {}, "Host2: x\r\n"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "my one");
  EXPECT_EQ(reply.field("Content-Type"), "text/plain");
  EXPECT_EQ(peer_.uid, ::getuid());
}

TEST_F(ServerTest, tcp_needs_the_token_before_the_body) {
  RawClient client = tcp();
  client.send(
      "POST /things HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n");
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  EXPECT_EQ(reply.field("WWW-Authenticate"), "Bearer");
  EXPECT_NE(reply.body.find("urn:k3d:problem:unauthorized"), std::string::npos) << reply.body;
  EXPECT_EQ(served_, 0);
  RawClient known = tcp();
  known.send(request("POST", "/things", "{}", "Authorization: Bearer full-token\r\n"));
  EXPECT_EQ(known.reply().body, "{}");
  EXPECT_EQ(peer_.address, "127.0.0.1");
}

TEST_F(ServerTest, open_paths_need_no_token_and_failures_delay_only_themselves) {
  RawClient wrong = tcp();
  wrong.send(request("GET", "/things/x"));
  RawClient open = tcp();
  open.send(request("GET", "/livez"));
  EXPECT_EQ(open.reply().status, 200);
  EXPECT_EQ(wrong.reply().status, 401);
}

TEST_F(ServerTest, F95_foreign_hosts_and_pages) {
  RawClient host = tcp();
  host.send("GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(host.reply().status, 421);
  RawClient page = tcp();
  page.send(request("GET", "/livez", {}, "Origin: http://evil.example\r\n"));
  EXPECT_EQ(page.reply().status, 403);
  RawClient form = tcp();
  form.send(
      "POST /things HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer full-token\r\nContent-Type: text/plain\r\n"
      "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(form.reply().status, 415);
  EXPECT_EQ(served_, 0);
}

TEST_F(ServerTest, statuses_of_the_table) {
  EXPECT_EQ(ask(request("GET", "/nowhere")).status, 404);
  const Reply reply = ask(request("DELETE", "/things"));
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.field("Allow"), "POST");
  EXPECT_EQ(ask("GET /%2e%2e/x HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
  EXPECT_EQ(ask("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n").status, 405);
}

TEST_F(ServerTest, malformed_requests_are_answered_and_closed) {
  for (const char* raw :
       {"GET /livez HTTP/1.1\nHost: a\n\n", "GET /livez HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n",
        "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    RawClient client = local();
    client.send(raw);
    EXPECT_EQ(client.reply().status, 400) << raw;
    EXPECT_NE(client.end(), End::open) << raw;
  }
  RawClient large = local();
  large.send("GET /livez HTTP/1.1\r\nHost: a\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(large.reply().status, 431);
  EXPECT_EQ(served_, 0);
}

TEST_F(ServerTest, F17_an_exception_is_a_500_and_the_daemon_lives) {
  const Reply reply = ask(request("GET", "/broken"));
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  EXPECT_EQ(reply.body.find("a bug"), std::string::npos) << "the words of a bug stay in the log";
  EXPECT_EQ(ask(request("GET", "/silent")).status, 500);
  EXPECT_EQ(ask(request("GET", "/livez")).status, 200);
}

TEST_F(ServerTest, F67_pipelined_requests_are_answered_in_order) {
  RawClient client = local();
  client.send(request("GET", "/things/1") + request("POST", "/things", "\"2\"") + request("HEAD", "/things/3") +
              request("GET", "/things/4"));
  EXPECT_EQ(client.reply().body, "1");
  EXPECT_EQ(client.reply().body, "\"2\"");
  const Reply head = client.reply(true);
  EXPECT_EQ(head.field("Content-Length"), "1");
  EXPECT_EQ(client.reply().body, "4");
}

TEST_F(ServerTest, bodies) {
  EXPECT_EQ(
      ask("POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
          "2\r\n{\"\r\n4\r\na\":1\r\n1\r\n}\r\n0\r\n\r\n")
          .body,
      "{\"a\":1}");
  EXPECT_EQ(
      ask("POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
          "2\n{}")
          .status,
      400);
  EXPECT_EQ(ask(request("POST", "/things")).status, 200) << "no body needs no type";
  const std::string large(2 * kMiB, 'x');
  RawClient client = local();
  client.send("POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2097152\r\n\r\n");
  EXPECT_EQ(client.reply().status, 413) << "before the body is sent";
  RawClient chunks = local();
  chunks.send(
      "POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n200000\r\n" +
      large);
  EXPECT_EQ(chunks.reply().status, 413);
}

TEST_F(ServerTest, F63_expect_is_answered_after_the_checks) {
  const std::string head =
      "POST /things HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\n";
  RawClient client = local();
  client.send(head + "\r\n");
  EXPECT_EQ(client.reply().status, 100);
  client.send("{}");
  EXPECT_EQ(client.reply().body, "{}");
  RawClient stranger = tcp();
  stranger.send(head + "\r\n");
  EXPECT_EQ(stranger.reply().status, 401);
}

TEST_F(ServerTest, F62_old_clients) {
  RawClient client = local();
  client.send("GET /things/1 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.reply().body, "1");
  EXPECT_EQ(client.end(), End::closed);
  RawClient kept = local();
  kept.send("GET /things/1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.reply().field("Connection"), "keep-alive");
  kept.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const Reply stream = kept.reply();
  EXPECT_FALSE(stream.has("Transfer-Encoding"));
  EXPECT_EQ(stream.body, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
}

TEST_F(ServerTest, streams_are_chunked_and_end_clean) {
  RawClient client = local();
  client.send(request("GET", "/stream") + request("GET", "/things/next"));
  const Reply reply = client.reply();
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.field("Content-Type"), "text/event-stream");
  EXPECT_EQ(reply.body, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
  EXPECT_EQ(client.reply().body, "next");
  RawClient head = local();
  head.send(request("HEAD", "/stream"));
  head.reply(true);
  EXPECT_EQ(head.all(), "") << "a HEAD has no body, no last chunk either";
}

TEST_F(ServerTest, a_client_that_leaves_cancels_its_handler) {
  RawClient client = local();
  client.send(request("GET", "/wait"));
  ASSERT_TRUE(test::eventually([this] { return waiting_ == 1; }));
  client.close();
  EXPECT_TRUE(test::eventually([this] { return waiting_ == 0; }));
  EXPECT_EQ(served_, 0);
}

TEST_F(ServerTest, F61_slow_heads_and_idle_connections_end) {
  ServerOptions options;
  options.head_deadline = milliseconds(200);
  options.idle_limit = milliseconds(200);
  options.body_deadline = milliseconds(200);
  start(options);
  RawClient idle = local();
  RawClient slow = local();
  slow.send("GET /livez HTTP/1.1\r\nHost: a\r\n");
  RawClient body = local();
  body.send("POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{");
  EXPECT_EQ(idle.end(), End::closed);
  EXPECT_NE(slow.end(), End::open);
  EXPECT_NE(body.end(), End::open);
  EXPECT_EQ(ask(request("GET", "/livez")).status, 200);
}

TEST_F(ServerTest, F18_out_of_descriptors_waits_and_recovers) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<RawClient> clients;
  const int next = ::dup(0);
  ::close(next);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next) + 21;  // ten clients with both their ends, and one end more
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  for (int i = 0; i < 11; ++i) clients.push_back(local());
  clients.back().send(request("GET", "/livez"));
  EXPECT_EQ(clients.back().some(milliseconds(150)), "") << "it waits in the backlog";
  clients.erase(clients.begin(), clients.begin() + 5);
  EXPECT_EQ(clients.back().reply().status, 200);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(ServerTest, stop_lets_an_answer_finish_and_ends_the_rest) {
  RawClient idle = local();
  RawClient waiting = local();
  waiting.send(request("GET", "/wait"));
  ASSERT_TRUE(test::eventually([this] { return waiting_ == 1; }));
  const auto begun = std::chrono::steady_clock::now();
  stop(seconds(0));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(5));
  EXPECT_NE(idle.end(), End::open);
  EXPECT_NE(waiting.end(), End::open);
  EXPECT_EQ(waiting_, 0);
  EXPECT_NE(::access(socket_.c_str(), F_OK), 0) << "its socket file is gone";
}

TEST_F(ServerTest, a_full_house_still_answers_on_the_unix_socket) {
  ServerOptions options;
  options.max_sessions = 2;
  start(options);
  RawClient first = tcp();
  RawClient second = tcp();
  first.send(request("GET", "/livez"));
  second.send(request("GET", "/livez"));
  EXPECT_EQ(first.reply().status, 200);
  EXPECT_EQ(second.reply().status, 200);
  RawClient third = tcp();
  EXPECT_NE(third.end(), End::open);
  EXPECT_EQ(ask(request("GET", "/livez")).status, 200);
}

}  // namespace
}  // namespace k3d::api
