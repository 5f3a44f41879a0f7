// The malformed requests on which nginx, HAProxy, Go and Beast disagree, over a real socket: each is refused with its
// status, the connection ends, and neither it nor what is hidden behind it reaches a handler (F70 to F73).
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/api_http/server_rig.hpp"

namespace k3d::api {
namespace {

using test::End;
using test::RawClient;
using test::Reply;
using test::request;

/// A request that would be answered if it were read as a second one.
const std::string kHidden = "GET /things/hidden HTTP/1.1\r\nHost: a\r\n\r\n";

struct Row {
  const char* name;
  int status;
  std::string raw;
};

std::string post(const std::string& lines, const std::string& body) {
  return "POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + lines + "\r\n" + body;
}

std::string get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

std::string chunked(const std::string& body) {
  return post("Transfer-Encoding: chunked\r\n", body);
}

std::vector<Row> lengths() {
  std::vector<Row> rows = {
      {"CL then TE", 400, post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {"TE then CL", 400, post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")},
      {"two equal CL", 400, post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}")},
      {"CL that differ", 400, post("Content-Length: 2\r\nContent-Length: 3\r\n", "{}")},
      {"CL with a blank before the colon", 400, post("Content-Length : 2\r\n", "{}")},
  };
  for (const char* value : {"2, 2", "+2", "-1", "0x2", "18446744073709551618", "99999999999999999999", "", "two"}) {
    rows.push_back({value, 400, post("Content-Length: " + std::string(value) + "\r\n", "{}")});
  }
  rows.push_back({"a length of 19 digits", 413, post("Content-Length: 9999999999999999999\r\n", "")});
  return rows;
}

std::vector<Row> codings() {
  std::vector<Row> rows;
  for (const char* value : {"gzip", "xchunked", "chunked, identity", "identity, chunked", "chunked\t", "\"chunked\""}) {
    const std::string line = "Transfer-Encoding: " + std::string(value) + "\r\n";
    rows.push_back({value, 400, post(line, "0\r\n\r\n")});
    rows.push_back({value, 400, post(line + "Content-Length: 5\r\n", "0\r\n\r\n")});
  }
  rows.push_back({"folded TE", 400, post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n")});
  rows.push_back({"TE after a tab", 400, post("Transfer-Encoding:\tchunked\r\n", "0\r\n\r\n")});
  rows.push_back({"TE twice", 400, post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")});
  rows.push_back({"TE in HTTP/1.0", 400,
                  "POST /things HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "0\r\n\r\n"});
  return rows;
}

std::vector<Row> heads() {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  return {
      {"folded line", 400, "GET /livez HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n"},
      {"bare LF everywhere", 400, "GET /livez HTTP/1.1\nHost: a\n\n"},
      {"bare LF once", 400, "GET /livez HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n"},
      {"bare CR", 400, "GET /livez HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n"},
      {"NUL in a value", 400, std::string("GET /livez HTTP/1.1\r\nHost: a\r\nX: 1\0002\r\n\r\n", 40)},
      {"blank before a colon", 400, "GET /livez HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n"},
      {"no Host", 400, "GET /livez HTTP/1.1\r\n\r\n"},
      {"two Hosts", 400, "GET /livez HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
      {"CONNECT", 405, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"TRACE", 405, "TRACE /livez HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a thousand headers", 431, "GET /livez HTTP/1.1\r\nHost: a\r\n" + many + "\r\n"},
      {"a head over 64 KiB", 431, "GET /livez HTTP/1.1\r\nHost: a\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n"},
      {"a line that never ends", 431, "GET /" + std::string(70'000, 'x')},
      {"no version", 400, "GET /livez\r\n\r\n"},
      {"HTTP/2 preface", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"TLS", 400, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", 12)},
      {"an empty line first", 400, "\r\nGET /livez HTTP/1.1\r\nHost: a\r\n\r\n"},
  };
}

std::vector<Row> chunks() {
  return {
      {"extension of 20 KB", 400, chunked("2;" + std::string(20'000, 'x') + "\r\n{}\r\n0\r\n\r\n")},
      {"size overflow", 400, chunked("10000000000000002\r\n{}\r\n0\r\n\r\n")},
      {"LF only", 400, chunked("2\n{}\n0\n\n")},
      {"bad terminator", 400, chunked("2\r\n{}XX0\r\n\r\n")},
      {"no size", 400, chunked("\r\n{}\r\n0\r\n\r\n")},
      {"negative size", 400, chunked("-2\r\n{}\r\n0\r\n\r\n")},
      {"trailers of 20 KB", 400, chunked("2\r\n{}\r\n0\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n")},
  };
}

std::vector<Row> paths() {
  std::vector<Row> rows;
  for (const char* target :
       {"/things/%2e%2e/%2e%2e/livez", "/things/../livez", "//livez", "/things//x", "/things%2fx", "/things/%5cx",
        "/things/a%00b", "/livez#x", "http://a/livez", "http://a", "*", "/livez%", "/things/%zz", "livez"}) {
    rows.push_back({target, 400, get(target)});
  }
  return rows;
}

class Oracle : public ServerTest {
 protected:
  void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.name);
      RawClient client = local();
      client.send(row.raw + kHidden);
      const Reply reply = client.reply();
      EXPECT_EQ(reply.status, row.status);
      EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
      EXPECT_EQ(reply.field("Connection"), "close");
      client.half_close();
      EXPECT_EQ(client.all(), "") << "what follows was taken for a request";
      EXPECT_NE(client.end(), End::open);
    }
    EXPECT_EQ(served_, 0);
    EXPECT_EQ(ask(request("GET", "/livez")).status, 200);
  }
};

TEST_F(Oracle, F70_lengths) {
  check(lengths());
}
TEST_F(Oracle, F70_codings) {
  check(codings());
}
TEST_F(Oracle, F71_heads) {
  check(heads());
}
TEST_F(Oracle, F72_chunks) {
  check(chunks());
}
TEST_F(Oracle, F73_paths) {
  check(paths());
}

TEST_F(Oracle, F72_trailers_are_dropped) {
  RawClient client = local();
  client.send(chunked("2;a=b\r\n{}\r\n0\r\nHost: b\r\nContent-Length: 9\r\n\r\n") + kHidden);
  EXPECT_EQ(client.reply().body, "{}");
  EXPECT_EQ(client.reply().body, "hidden") << "a real second request, after the body's end";
}

TEST_F(Oracle, F73_one_round_of_decoding) {
  EXPECT_EQ(ask(get("/things/%252e%252e")).body, "%2e%2e");
  EXPECT_EQ(ask(get("/things/a..b")).body, "a..b");
}

/// Random bytes, and valid requests with random bytes changed, dropped or doubled.
std::string garbage(std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return random() % n; };
  std::string out;
  if (below(3) == 0) {
    for (std::size_t i = below(400); i > 0; --i) out += static_cast<char>(below(256));
    return out + (below(2) == 0 ? "\r\n\r\n" : "");
  }
  const std::array<std::string, 4> seeds{request("GET", "/things/x?a=b"), request("POST", "/things", "{\"a\": 1}"),
                                         chunked("5\r\nhello\r\n0\r\n\r\n"),
                                         request("HEAD", "/stream") + request("GET", "/livez")};
  out = seeds[below(seeds.size())];
  for (std::size_t i = 1 + below(6); i > 0; --i) {
    const std::size_t at = below(out.size());
    const std::size_t kind = below(3);
    if (kind == 0) out[at] = static_cast<char>(below(256));
    if (kind == 1) out.erase(at, 1 + below(4));
    if (kind == 2) out.insert(at, out.substr(at, 1 + below(20)));
    if (out.empty()) return out;
  }
  return out;
}

TEST_F(Oracle, a_thousand_requests_of_garbage) {
  std::mt19937 random(20'261'130);
  for (int i = 0; i < 1000; ++i) {
    const std::string raw = garbage(random);
    RawClient client = local();
    client.send(raw);
    client.half_close();
    const std::string answer = client.all();
    EXPECT_NE(client.end(), End::open) << "request " << i << " holds the connection";
    const bool refused = answer.starts_with("HTTP/1.1 4");
    EXPECT_TRUE(answer.empty() || refused || answer.starts_with("HTTP/1.1 2")) << "request " << i << ": " << answer;
  }
  EXPECT_EQ(ask(request("GET", "/livez")).status, 200);
}

}  // namespace
}  // namespace k3d::api
