// The strict gate: what two servers could read differently is refused (A4's last column), the rest is read right.
#include "api/http/request_head.hpp"

#include <gtest/gtest.h>

namespace k3d::api {
namespace {

std::string head(const std::string& lines, const std::string& line = "POST /v1/x HTTP/1.1") {
  return line + "\r\n" + lines + "\r\n";
}

unsigned status_of(const std::string& raw) {
  const auto parsed = parse_head(raw);
  return parsed ? 200 : http_status(parsed.error().code);
}

TEST(RequestHead, reads_what_there_is) {
  const auto parsed =
      parse_head(head("Host: a\r\nX-One:  two words \t\r\nContent-Length: 12\r\nExpect: 100-continue\r\n",
                      "POST /v1/chat%20x?a=b%20c&d HTTP/1.1"));
  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(parsed->method, "POST");
  EXPECT_EQ(parsed->target, "/v1/chat%20x?a=b%20c&d");
  EXPECT_EQ(parsed->path, "/v1/chat x");
  EXPECT_EQ(parsed->query, "a=b%20c&d");
  EXPECT_EQ(parsed->field("x-one"), "two words");
  EXPECT_EQ(parsed->content_length, 12U);
  EXPECT_TRUE(parsed->keep_alive);
  EXPECT_TRUE(parsed->expect_continue);
  EXPECT_FALSE(parsed->chunked);
}

TEST(RequestHead, keep_alive_by_version_and_connection) {
  EXPECT_TRUE(parse_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n")->keep_alive);
  EXPECT_FALSE(parse_head("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n")->keep_alive);
  EXPECT_FALSE(parse_head("GET / HTTP/1.0\r\n\r\n")->keep_alive);
  EXPECT_TRUE(parse_head("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")->keep_alive);
}

TEST(RequestHead, F70_lengths) {
  EXPECT_EQ(status_of(head("Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n")), 400U);
  for (const char* bad : {"2, 2", "+2", "-1", "0x2", "", "18446744073709551618", "2 2", "2;3", "\xb2"}) {
    EXPECT_EQ(status_of(head("Host: a\r\nContent-Length: " + std::string(bad) + "\r\n")), 400U) << bad;
  }
  EXPECT_EQ(status_of(head("Host: a\r\nContent-Length : 2\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nContent-Length: 2\r\n")), 200U);
}

TEST(RequestHead, F70_codings) {
  for (const char* bad :
       {"gzip", "xchunked", "chunked, identity", "gzip, chunked", "chunked\r\nTransfer-Encoding: chunked",
        "\x0b"
        "chunked",
        "chunked;q=1", "\"chunked\"", ""}) {
    EXPECT_EQ(status_of(head("Host: a\r\nTransfer-Encoding: " + std::string(bad) + "\r\n")), 400U) << bad;
  }
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nTransfer-Encoding : chunked\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nTransfer-Encoding:\tchunked\r\n")), 400U);
  EXPECT_TRUE(parse_head(head("Host: a\r\nTransfer-Encoding: Chunked\r\n"))->chunked);
}

TEST(RequestHead, F71_bytes_that_hide_lines) {
  EXPECT_EQ(status_of(head("Host: a\r\nX: 1\r\n folded\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nTransfer-Encoding:\r\n chunked\r\n")), 400U);
  EXPECT_EQ(status_of(head(" Host: a\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nX: 1\rY: 2\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nX: 1\nY: 2\r\n")), 400U);
  EXPECT_EQ(status_of(head(std::string("Host: a\r\nX: 1\0Y\r\n", 17))), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nX : 1\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\n: 1\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nnothing\r\n")), 400U);
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: a\n\n"), 400U);
}

TEST(RequestHead, exactly_one_host) {
  EXPECT_EQ(status_of(head("X: 1\r\n")), 400U);
  EXPECT_EQ(status_of(head("Host: a\r\nHost: a\r\n")), 400U);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200U);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), 400U);
}

TEST(RequestHead, methods) {
  for (const char* method : {"CONNECT", "TRACE", "get", "PROPFIND"}) {
    EXPECT_EQ(status_of(head("Host: a\r\n", std::string(method) + " /x HTTP/1.1")), 405U) << method;
  }
  EXPECT_EQ(status_of(head("Host: a\r\n", "CONNECT host:80 HTTP/1.1")), 405U);
  EXPECT_EQ(status_of(head("Host: a\r\n", "G\xc3\xa9T /x HTTP/1.1")), 400U);
}

TEST(RequestHead, F73_targets) {
  for (const char* target : {"/v1/%2e%2e/%2e%2e/api",
                             "/v1/../api",
                             "/v1/./x",
                             "/v1/..",
                             "/v1/.%2E/x",
                             "//v1/x",
                             "/v1//x",
                             "/v1%2fx",
                             "/v1%2Fx",
                             "/v1%5cx",
                             "/v1\\x",
                             "/v1%00x",
                             "/v1/x#y",
                             "http://a/v1/x",
                             "*",
                             "v1/x",
                             "/v1/%",
                             "/v1/%4",
                             "/v1/%zz",
                             "/v1/\x01",
                             "/v1/\xc3\xa9",
                             "/v1/%0d%0aX:1",
                             "/v1 /x",
                             ""}) {
    EXPECT_EQ(status_of(head("Host: a\r\n", "GET " + std::string(target) + " HTTP/1.1")), 400U) << target;
  }
  for (const char* target : {"/", "/v1/models", "/v1/a..b", "/v1/...", "/v1/%C3%A9", "/x?y=/../z//%2f", "/x?#"}) {
    const unsigned wanted = std::string(target).find('#') == std::string::npos ? 200U : 400U;
    EXPECT_EQ(status_of(head("Host: a\r\n", "GET " + std::string(target) + " HTTP/1.1")), wanted) << target;
  }
  EXPECT_EQ(parse_head(head("Host: a\r\n", "GET /v1/%252e%252e/x HTTP/1.1"))->path, "/v1/%2e%2e/x") << "decoded once";
}

TEST(RequestHead, limits) {
  std::string many = "Host: a\r\n";
  for (int i = 1; i < 100; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(status_of(head(many)), 200U);
  EXPECT_EQ(status_of(head(many + "One: more\r\n")), 431U);
  EXPECT_EQ(status_of(head("Host: a\r\nX: " + std::string(70'000, 'y') + "\r\n")), 431U);
}

TEST(RequestHead, versions) {
  for (const char* version : {"HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 ", ""}) {
    EXPECT_EQ(status_of(head("Host: a\r\n", "GET / " + std::string(version))), 400U) << version;
  }
  EXPECT_EQ(status_of("GET /\r\n\r\n"), 400U);
  EXPECT_EQ(status_of("\r\n\r\n"), 400U);
  EXPECT_EQ(status_of(""), 400U);
}

TEST(RequestHead, other_expectations_are_refused) {
  EXPECT_EQ(status_of(head("Host: a\r\nExpect: magic\r\n")), 400U);
}

TEST(HeadEnd, found_however_the_bytes_arrive) {
  const std::string raw = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next";
  HeadEnd whole;
  EXPECT_EQ(whole.find(raw), 27U);
  HeadEnd end;
  for (std::size_t i = 0; i < 27; ++i) EXPECT_EQ(end.find(std::string_view(raw).substr(0, i)), 0U) << i;
  EXPECT_EQ(end.find(std::string_view(raw).substr(0, 27)), 27U);
}

TEST(HeadEnd, bare_line_ends_are_refused_at_once) {
  EXPECT_FALSE(HeadEnd().find("GET / HTTP/1.1\nHost: a\n\n").has_value());
  EXPECT_FALSE(HeadEnd().find("GET / HTTP/1.1\r\nHost: a\r\n\n").has_value());
  EXPECT_FALSE(HeadEnd().find("\r\nGET / HTTP/1.1\r\n").has_value());
  EXPECT_FALSE(HeadEnd().find(std::string(kHeadLimit, 'x')).has_value());
}

TEST(QueryValue, decoded) {
  EXPECT_EQ(query_value("a=1&tail=20&b", "tail"), "20");
  EXPECT_EQ(query_value("a=x%20y+z", "a"), "x y z");
  EXPECT_EQ(query_value("a", "a"), "");
  EXPECT_EQ(query_value("ab=1", "a"), std::nullopt);
  EXPECT_EQ(query_value("a=%zz", "a"), std::nullopt);
}

}  // namespace
}  // namespace k3d::api
