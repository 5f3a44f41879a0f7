#include "daemon/base/host_port.hpp"

#include <gtest/gtest.h>

namespace k3d {
namespace {

TEST(HostPort, reads_every_form) {
  EXPECT_EQ(parse_host_port("10.0.0.1:80").value().host, "10.0.0.1");
  EXPECT_EQ(parse_host_port("[fd7a::1]:65535").value().host, "fd7a::1");
  EXPECT_EQ(parse_host_port("[fd7a::1]:65535").value().port, 65535);
  EXPECT_EQ(parse_host_port("localhost:0").value().host, "127.0.0.1");
}

TEST(HostPort, refuses_what_has_no_port) {
  for (const char* bad : {"", "host", "host:", "1.2.3.4:65536", "1.2.3.4:8a", "1.2.3.4:-1", "[::1]"}) {
    EXPECT_FALSE(parse_host_port(bad)) << bad;
  }
}

}  // namespace
}  // namespace k3d
