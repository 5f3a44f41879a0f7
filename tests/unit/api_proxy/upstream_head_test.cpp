// The engine's head read strictly (F66), and both heads as they go on (F64, F96).
#include "api/proxy/upstream_head.hpp"

#include <gtest/gtest.h>

namespace k3d::proxy {
namespace {

Result<UpstreamHead> parse(const std::string& lines, const std::string& status = "200 OK", bool head_request = false) {
  return parse_upstream_head("HTTP/1.1 " + status + "\r\n" + lines + "\r\n", head_request);
}

api::RequestHead request(const std::string& lines) {
  return *api::parse_head("POST /v1/x?y=%20 HTTP/1.1\r\nHost: me:8000\r\n" + lines + "\r\n");
}

TEST(UpstreamHead, kinds_of_bodies) {
  EXPECT_EQ(parse("Content-Length: 5\r\n")->body, BodyKind::counted);
  EXPECT_EQ(parse("Content-Length: 0\r\n")->body, BodyKind::none);
  EXPECT_EQ(parse("Transfer-Encoding: chunked\r\n")->body, BodyKind::chunked);
  EXPECT_EQ(parse("X: y\r\n")->body, BodyKind::until_close);
  EXPECT_FALSE(parse("X: y\r\n")->keep_alive);
  EXPECT_EQ(parse("Content-Length: 5\r\n", "200 OK", true)->body, BodyKind::none);
  EXPECT_EQ(parse("X: y\r\n", "204 No Content")->body, BodyKind::none);
  EXPECT_EQ(parse("Content-Length: 5\r\n", "304 Not Modified")->body, BodyKind::none);
  EXPECT_FALSE(parse("Content-Length: 5\r\n", "204 No Content")->keep_alive) << "the body may come all the same";
}

TEST(UpstreamHead, F66_ambiguous) {
  for (const char* lines :
       {"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2, 2\r\n", "Content-Length: +2\r\n", "Content-Length: -2\r\n", "Content-Length: \r\n",
        "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "X: 1\r\n folded\r\n", "X : 1\r\n", ": 1\r\n", "X: a\rb\r\n", "X: a\nb\r\n", "nothing\r\n"}) {
    const auto head = parse(lines);
    ASSERT_FALSE(head.has_value()) << lines;
    EXPECT_EQ(head.error().code, Code::upstream_failed);
  }
  for (const char* raw :
       {"HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 999 X\r\n\r\n", "hello\r\n\r\n", "\r\n\r\n"}) {
    EXPECT_FALSE(parse_upstream_head(raw, false).has_value()) << raw;
  }
}

TEST(UpstreamRequest, F64_F96_what_the_engine_sees) {
  const api::RequestHead head = request(
      "Accept-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: keep-alive, "
      "X-Hop\r\n"
      "X-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: abc\r\nProxy-Authorization: "
      "canary\r\n"
      "Authorization: Bearer canary\r\nX-Api-Key: canary\r\nCookie: canary\r\nOrigin: http://canary\r\n"
      "X-Forwarded-For: canary\r\nX-Forwarded-Proto: canary\r\nX-FORWARDED-PORT: canary\r\nForwarded: canary\r\n"
      "X-Real-IP: canary\r\nExpect: 100-continue\r\n");
  EXPECT_EQ(
      upstream_request(head, EngineAddress{"/s", 0, {}}, Client{"10.0.0.9", 1, true, {}}),
      "POST /v1/x?y=%20 HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nContent-Type: application/json\r\n"
      "X-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: me:8000\r\nContent-Length: 2\r\n"
      "Connection: keep-alive\r\n\r\n");
  const std::string keyed = upstream_request(head, EngineAddress{"", 81, "engine-key"}, Client{});
  EXPECT_NE(keyed.find("\r\nAuthorization: Bearer engine-key\r\n"), std::string::npos);
}

TEST(ClientResponse, strips_the_hop_and_the_engines_cors) {
  const auto head = parse(
      "Server: llama.cpp\r\nContent-Length: 2\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
      "Keep-Alive: timeout=5\r\nAccess-Control-Allow-Origin: http://evil\r\n"
      "Access-Control-Allow-Credentials: true\r\n");
  const Client plain{"", 1, true, {}};
  EXPECT_EQ(client_response(*head, Delivery::counted, plain, true),
            "HTTP/1.1 200 \r\nServer: llama.cpp\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n");
  const Client page{"", 1, true, "http://ours"};
  EXPECT_NE(client_response(*head, Delivery::counted, page, true)
                .find("\r\nAccess-Control-Allow-Origin: http://ours\r\nVary: Origin\r\n"),
            std::string::npos);
}

TEST(ClientResponse, event_streams_are_not_buffered_on_the_way) {
  const auto head = parse("Content-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n");
  const std::string text = client_response(*head, Delivery::chunked, Client{}, true);
  EXPECT_NE(text.find("\r\nX-Accel-Buffering: no\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\r\nCache-Control: no-cache\r\n"), std::string::npos) << text;
}

TEST(ClientResponse, F65_lengths_without_bodies) {
  const auto length = [](const Result<UpstreamHead>& head) {
    const std::string text = client_response(*head, Delivery::none, Client{}, true);
    const std::size_t at = text.find("Content-Length: ");
    return at == std::string::npos ? std::string("none") : text.substr(at + 16, text.find("\r\n", at) - at - 16);
  };
  EXPECT_EQ(length(parse("Content-Length: 77\r\n", "200 OK", true)), "77");
  EXPECT_EQ(length(parse("X: y\r\n", "200 OK", true)), "none");
  EXPECT_EQ(length(parse("Content-Length: 0\r\n")), "0");
  EXPECT_EQ(length(parse("Content-Length: 0\r\n", "204 No Content")), "none");
}

TEST(Delivery, by_the_clients_version) {
  const auto chunked = parse("Transfer-Encoding: chunked\r\n");
  const auto open = parse("X: y\r\n");
  EXPECT_EQ(delivery_of(*chunked, Client{"", 1, true, {}}), Delivery::chunked);
  EXPECT_EQ(delivery_of(*chunked, Client{"", 0, true, {}}), Delivery::close);
  EXPECT_EQ(delivery_of(*open, Client{"", 1, true, {}}), Delivery::chunked);
  EXPECT_EQ(delivery_of(*open, Client{"", 0, true, {}}), Delivery::close);
  EXPECT_EQ(delivery_of(*parse("Content-Length: 5\r\n"), Client{"", 0, true, {}}), Delivery::counted);
}

}  // namespace
}  // namespace k3d::proxy
