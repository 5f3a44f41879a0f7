// The HTTP client against a server that answers well, badly, slowly or never.
#include "daemon/base/http_client.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>

#include "daemon/base/async/sleep.hpp"
#include "tests/unit/docker_driver/fake_engine.hpp"
#include "tests/unit/docker_driver/loop.hpp"

namespace k3d {
namespace {

using http::Client;
using http::Endpoint;
using test::Asked;
using test::chunked;
using test::FakeEngine;
using test::Reply;
using test::reply;
using test::run;

constexpr milliseconds kLong{20'000};

Client client_of(const FakeEngine& engine) {
  return Client(*Endpoint::parse("unix:" + engine.path()));
}

http::Request get(const std::string& target) {
  http::Request request;
  request.target = target;
  return request;
}

TEST(HttpClient, reads_addresses) {
  EXPECT_EQ(Endpoint::parse("unix:///run/x.sock")->unix_path, "/run/x.sock");
  EXPECT_EQ(Endpoint::parse("unix:/run/x.sock")->unix_path, "/run/x.sock");
  const Result<Endpoint> tcp = Endpoint::parse("tcp://docker.example:2375");
  ASSERT_TRUE(tcp);
  EXPECT_EQ(tcp->host, "docker.example");
  EXPECT_EQ(tcp->port, 2375);
  EXPECT_FALSE(tcp->tls);
  EXPECT_TRUE(Endpoint::parse("https://h")->tls);
  EXPECT_EQ(Endpoint::parse("https://h")->port, 443);
  EXPECT_EQ(Endpoint::parse("http://[::1]:80")->host, "::1");
  for (const char* bad : {"", "unix:", "unix:run/x", "ftp://h", "http://", "h:80"}) {
    EXPECT_FALSE(Endpoint::parse(bad)) << bad;
  }
}

TEST(HttpClient, sends_a_request_and_reads_the_whole_answer) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) { return reply(201, asked.method + asked.target + asked.body); });
  http::Request request;
  request.method = "POST";
  request.target = "/a?b=c";
  request.body = "{}";
  request.content_type = "application/json";
  const auto answer = run(loop, client_of(engine).call(request, kLong));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 201U);
  EXPECT_EQ(answer->body, "POST/a?b=c{}");
}

TEST(HttpClient, joins_chunks) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return chunked({"one ", "two"}, true, "X-Y: z\r\n"); });
  const auto answer = run(loop, client_of(engine).call(get("/"), kLong));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->body, "one two");
  EXPECT_EQ(answer->header("x-y"), "z");
}

TEST(HttpClient, answer_to_head_has_no_body_whatever_its_length_says) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return Reply{"HTTP/1.1 404 X\r\nContent-Length: 38\r\n\r\n", false}; });
  http::Request request = get("/");
  request.method = "HEAD";
  const auto answer = run(loop, client_of(engine).call(request, kLong));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 404U);
}

TEST(HttpClient, body_that_breaks_off_is_no_answer) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) {
    if (asked.target == "/chunks") return chunked({"half"}, false);
    return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", false};
  });
  for (const char* target : {"/chunks", "/length"}) {
    const auto answer = run(loop, client_of(engine).call(get(target), kLong));
    ASSERT_FALSE(answer) << target;
    EXPECT_EQ(answer.error().code, Code::protocol) << target;
  }
}

TEST(HttpClient, server_that_speaks_something_else_or_nothing_is_a_protocol_error) {
  asio::io_context loop;
  FakeEngine engine(loop,
                    [](const Asked& asked) { return Reply{asked.target == "/ssh" ? "SSH-2.0-x\r\n\r\n" : "", false}; });
  for (const char* target : {"/ssh", "/closed"}) {
    const auto answer = run(loop, client_of(engine).call(get(target), kLong));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::protocol) << answer.error().text();
  }
}

TEST(HttpClient, too_large_answer_is_refused) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return reply(200, std::string(200'000, 'x')); });
  const auto answer = run(loop, client_of(engine).call(get("/"), kLong, 100'000));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::body_too_large);
}

TEST(HttpClient, deadline_ends_a_call_that_is_never_answered) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) {
    return asked.target == "/body" ? Reply{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", true} : Reply{"", true};
  });
  for (const char* target : {"/head", "/body"}) {
    const auto answer = run(loop, client_of(engine).call(get(target), milliseconds(30)));
    ASSERT_FALSE(answer) << target;
    EXPECT_EQ(answer.error().code, Code::timed_out) << target;
    EXPECT_NE(answer.error().message.find(target), std::string::npos);
  }
}

TEST(HttpClient, absent_socket_is_unreachable_in_the_kernels_words) {
  asio::io_context loop;
  const Client client(*Endpoint::parse("unix:/nonexistent/k3d.sock"));
  const auto answer = run(loop, client.call(get("/"), kLong));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unreachable);
  EXPECT_EQ(answer.error().cause, "No such file or directory");
}

TEST(HttpClient, refused_tcp_connection_is_unreachable) {
  asio::io_context loop;
  const Client client(*Endpoint::parse("http://127.0.0.1:1"));
  const auto answer = run(loop, client.call(get("/"), kLong));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unreachable);
  EXPECT_EQ(answer.error().cause, "Connection refused");
}

Reply endless() {
  return {chunked({"first"}, false).bytes, true};
}

TEST(HttpClient, close_from_elsewhere_ends_a_pending_read) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return endless(); });
  auto stream = run(loop, client_of(engine).open(get("/"), kLong));
  ASSERT_TRUE(stream) << stream.error().text();
  const auto read = [](http::ResponseStream* body) -> Task<Error> {
    std::string piece(100, '\0');
    const auto first = co_await body->read_some(piece);
    if (!first || piece.substr(0, *first) != "first") co_return Error{Code::internal, "the first piece", {}, {}};
    asio::post(co_await asio::this_coro::executor, [body] { body->close(); });
    const auto second = co_await body->read_some(piece);
    co_return second ? Error() : second.error();
  };
  EXPECT_EQ(run(loop, read(stream->get())).code, Code::cancelled);
}

TEST(HttpClient, cancelled_task_ends_at_once_with_a_call_pending) {
  asio::io_context loop;
  TaskGroup group(loop.get_executor());
  FakeEngine engine(loop, [&loop, &group](const Asked&) {
    asio::post(loop, [&group] { group.cancel(); });
    return Reply{"", true};
  });
  bool reached = false;
  const auto caller = [](Client client, bool& after) -> Task<void> {
    const auto answer = co_await client.call(get("/"), kLong);
    after = answer.has_value();
  };
  group.spawn(caller(client_of(engine), reached));
  const auto join = [](TaskGroup& tasks) -> Task<bool> {
    co_await tasks.join();
    co_return true;
  };
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(run(loop, join(group)));
  EXPECT_FALSE(reached);
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(5));
}

TEST(HttpClient, encodes_what_has_a_meaning_in_an_address) {
  EXPECT_EQ(http::url_encode("a/b:c d~é"), "a%2Fb%3Ac%20d~%C3%A9");
}

}  // namespace
}  // namespace k3d
