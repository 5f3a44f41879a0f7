// The oracle of malformed requests: what the client gets, and that the engine saw nothing of it.
#include <gtest/gtest.h>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

struct Case {
  const char* name;
  std::string raw;
  int status;
};

std::string post(const std::string& lines, const std::string& body = "{}",
                 const std::string& line = "POST /v1/x HTTP/1.1") {
  return line + "\r\n" + lines + "\r\n" + body;
}

std::string thousand_headers() {
  std::string lines = "Host: localhost\r\n";
  for (int i = 0; i < 1000; ++i) lines += "X-" + std::to_string(i) + ": 1\r\n";
  return lines;
}

std::vector<Case> cases() {
  const std::string host = "Host: localhost\r\n";
  const std::string chunks = "2\r\n{}\r\n0\r\n\r\n";
  const std::string chunked = host + "Transfer-Encoding: chunked\r\n";
  return {
      {"CL then TE", post(host + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", chunks), 400},
      {"TE then CL", post(chunked + "Content-Length: 2\r\n", chunks), 400},
      {"two equal CL", post(host + "Content-Length: 2\r\nContent-Length: 2\r\n"), 400},
      {"CL list", post(host + "Content-Length: 2, 2\r\n"), 400},
      {"CL differ", post(host + "Content-Length: 2\r\nContent-Length: 3\r\n"), 400},
      {"CL +2", post(host + "Content-Length: +2\r\n"), 400},
      {"CL -1", post(host + "Content-Length: -1\r\n"), 400},
      {"CL 0x2", post(host + "Content-Length: 0x2\r\n"), 400},
      {"CL space", post(host + "Content-Length : 2\r\n"), 400},
      {"CL 2^64+2", post(host + "Content-Length: 18446744073709551618\r\n"), 400},
      {"TE gzip then CL", post(host + "Transfer-Encoding: gzip\r\nContent-Length: 2\r\n"), 400},
      {"TE xchunked then CL", post(host + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n"), 400},
      {"TE chunked, identity", post(host + "Transfer-Encoding: chunked, identity\r\n", chunks), 400},
      {"TE folded", post(host + "Transfer-Encoding:\r\n chunked\r\n", chunks), 400},
      {"TE tab", post(host + "Transfer-Encoding:\tchunked\r\n", chunks), 400},
      {"TE in 1.0", post(chunked, chunks, "POST /v1/x HTTP/1.0"), 400},
      {"header folded", post(host + "X: 1\r\n 2\r\nContent-Length: 2\r\n"), 400},
      {"bare LF everywhere", "POST /v1/x HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}", 400},
      {"NUL in value", post(host + std::string("X: a\0b\r\n", 8) + "Content-Length: 2\r\n"), 400},
      {"no Host", post("Content-Length: 2\r\n"), 400},
      {"two Hosts", post(host + host + "Content-Length: 2\r\n"), 400},
      {"chunk extension 20 KB", post(chunked, "2;" + std::string(20'000, 'x') + "\r\n{}\r\n0\r\n\r\n"), 400},
      {"chunk size overflow", post(chunked, "10000000000000002\r\n{}\r\n0\r\n\r\n"), 400},
      {"chunk terminator", post(chunked, "2\r\n{}XX0\r\n\r\n"), 400},
      {"chunk bare LF", post(chunked, "2\n{}\n0\n\n"), 400},
      {"dot segments", post(host, "", "GET /v1/%2e%2e/%2e%2e/api HTTP/1.1"), 400},
      {"plain dot segments", post(host, "", "GET /v1/../slots HTTP/1.1"), 400},
      {"double slash", post(host, "", "GET /v1//models HTTP/1.1"), 400},
      {"hidden slash", post(host, "", "GET /v1%2f..%2fslots HTTP/1.1"), 400},
      {"absolute form", post(host, "", "GET http://localhost/v1/x HTTP/1.1"), 400},
      {"fragment", post(host, "", "GET /v1/x#y HTTP/1.1"), 400},
      {"CONNECT", post(host, "", "CONNECT localhost:80 HTTP/1.1"), 405},
      {"TRACE", post(host, "", "TRACE /v1/x HTTP/1.1"), 405},
      {"1,000 headers", post(thousand_headers() + "Content-Length: 2\r\n"), 431},
      {"64 KiB head", post(host + "X: " + std::string(70'000, 'x') + "\r\n"), 431},
  };
}

TEST(Oracle, F70_F71_F72_F73_refused_and_never_seen_by_the_engine) {
  Rig rig;
  for (const Case& c : cases()) {
    RawClient client = rig.connect();
    client.send(c.raw);
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, c.status) << c.name;
    EXPECT_TRUE(reply.complete) << c.name;
    if (c.status == 400) {
      EXPECT_EQ(reply.field("Connection"), "close") << c.name;
    }
    EXPECT_EQ(client.all(), "") << c.name << ": nothing more is answered";
  }
  EXPECT_EQ(rig.engine().requests(), 0U);
  EXPECT_EQ(rig.ask(request("POST", "/v1/x", "{}")).status, 200) << "and the proxy serves on";
}

TEST(Oracle, F73_what_is_not_exposed_is_404) {
  Rig rig;
  for (const char* target : {"/slots", "/metrics", "/api/v1/status", "/", "/%73lots", "/v1"}) {
    const Reply reply = rig.ask(request("GET", target));
    EXPECT_EQ(reply.status, 404) << target;
    EXPECT_NE(reply.body.find("not_exposed"), std::string::npos) << reply.body;
  }
  EXPECT_EQ(rig.ask(request("POST", "/props", "{}")).status, 404);
  EXPECT_EQ(rig.engine().requests(), 0U);
  EXPECT_EQ(rig.ask(request("GET", "/props")).status, 200);
}

TEST(Oracle, F95_foreign_hosts) {
  Rig rig;
  RawClient client = rig.connect();
  client.send("GET /v1/x HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(client.reply().status, 421);
  EXPECT_EQ(rig.ask("GET /v1/x HTTP/1.0\r\nHost: evil.example\r\n\r\n").status, 421);
  EXPECT_EQ(rig.engine().requests(), 0U);
}

}  // namespace
}  // namespace k3d::test
