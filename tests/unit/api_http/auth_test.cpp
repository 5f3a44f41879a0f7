// Who may ask the control API what: Host, Origin and token on TCP, nothing on the unix socket (F95).
#include "api/http/auth.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace k3d::api {
namespace {

AuthRules rules() {
  AuthRules out;
  out.full_token = Secret("full");
  out.read_token = Secret("read");
  out.allowed_hosts = {"100.64.0.7", "gpu.example:7300"};
  return out;
}

Code asked(const std::string& lines, Scope scope, bool unix_socket = false, const AuthRules& with = rules()) {
  const auto head = parse_head("GET /x HTTP/1.1\r\n" + lines + "\r\n");
  Peer peer;
  peer.unix_socket = unix_socket;
  const Status status = authorise(*head, peer, scope, with);
  return status ? Code::internal : status.error().code;
}

constexpr Code kFine = Code::internal;  // no rule answers with it

TEST(Auth, unix_socket_has_no_rules) {
  EXPECT_EQ(asked("Host: evil.example\r\nOrigin: http://evil.example\r\n", Scope::write, true), kFine);
}

TEST(Auth, tokens_by_scope) {
  EXPECT_EQ(asked("Host: localhost\r\n", Scope::open), kFine);
  EXPECT_EQ(asked("Host: localhost\r\n", Scope::read), Code::unauthorized);
  EXPECT_EQ(asked("Host: localhost\r\nAuthorization: Bearer wrong\r\n", Scope::read), Code::unauthorized);
  EXPECT_EQ(asked("Host: localhost\r\nAuthorization: full\r\n", Scope::read), Code::unauthorized);
  EXPECT_EQ(asked("Host: localhost\r\nAuthorization: bearer full\r\n", Scope::write), kFine);
  EXPECT_EQ(asked("Host: localhost\r\nAuthorization: Bearer read\r\n", Scope::read), kFine);
  EXPECT_EQ(asked("Host: localhost\r\nAuthorization: Bearer read\r\n", Scope::write), Code::forbidden);
  AuthRules none = rules();
  none.read_token = Secret();
  EXPECT_EQ(asked("Host: localhost\r\nAuthorization: Bearer \r\n", Scope::read, false, none), Code::unauthorized);
}

TEST(Auth, F95_hosts) {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  const std::string own(name);
  for (const std::string& host :
       {std::string("localhost:7300"), std::string("127.0.0.1"), std::string("[::1]:7300"), std::string("LOCALHOST"),
        std::string("100.64.0.7:7300"), std::string("gpu.example"), own, own + ":1", own + ".tail1234.ts.net"}) {
    EXPECT_EQ(asked("Host: " + host + "\r\n", Scope::open), kFine) << host;
  }
  for (const std::string& host :
       {std::string("evil.example"), std::string("localhost.evil.example"), std::string("10.0.0.1"),
        std::string("evil.ts.net"), own + ".evil.example", std::string("[::2]")}) {
    EXPECT_EQ(asked("Host: " + host + "\r\n", Scope::open), Code::host_not_allowed) << host;
  }
}

TEST(Auth, F95_origins) {
  const auto from = [](const std::string& host, const std::string& origin) {
    return asked("Host: " + host + "\r\nOrigin: " + origin + "\r\n", Scope::open);
  };
  EXPECT_EQ(from("localhost:7300", "http://localhost:7300"), kFine);
  EXPECT_EQ(from("gpu.example", "https://gpu.example"), kFine);
  EXPECT_EQ(from("gpu.example:443", "https://gpu.example"), kFine);
  EXPECT_EQ(from("localhost:7300", "http://gpu.example:7300"), kFine) << "the configuration names it";
  EXPECT_EQ(from("localhost:7300", "http://localhost:3000"), Code::origin_not_allowed)
      << "another program of this host";
  EXPECT_EQ(from("localhost:7300", "http://evil.example"), Code::origin_not_allowed);
  EXPECT_EQ(from("localhost:7300", "null"), Code::origin_not_allowed);
  AuthRules listening = rules();
  listening.own_addresses = {"100.64.0.9"};
  EXPECT_EQ(asked("Host: 100.64.0.9:7300\r\n", Scope::open, false, listening), kFine);
  EXPECT_EQ(asked("Host: 100.64.0.9:7300\r\nOrigin: http://100.64.0.9\r\n", Scope::open, false, listening),
            Code::origin_not_allowed)
      << "what serves port 80 there is another program";
  EXPECT_EQ(from("localhost:7300", "http://localhost:7300.evil.example"), Code::origin_not_allowed);
}

TEST(Auth, F95_bodies_are_json) {
  const auto type = [](const std::string& line) {
    return check_content_type(*parse_head("POST /x HTTP/1.1\r\nHost: a\r\n" + line + "\r\n")).has_value();
  };
  EXPECT_TRUE(type("Content-Type: application/json\r\n"));
  EXPECT_TRUE(type("Content-Type: Application/JSON; charset=utf-8\r\n"));
  EXPECT_TRUE(type("Content-Type: application/json ;charset=utf-8\r\n"));
  for (const char* line : {"", "Content-Type: text/plain\r\n", "Content-Type: application/json2\r\n",
                           "Content-Type: application/x-www-form-urlencoded\r\n", "Content-Type: text/json\r\n"}) {
    EXPECT_FALSE(type(line)) << line;
  }
}

}  // namespace
}  // namespace k3d::api
