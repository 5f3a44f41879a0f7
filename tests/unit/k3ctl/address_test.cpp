#include "api/client/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace k3d::api {
namespace {

using testing::HasSubstr;

TEST(ResolveAddress, option_before_environment_before_default) {
  EXPECT_EQ(resolve_address("", "")->unix_path, "/run/k3d/control.sock");
  EXPECT_EQ(resolve_address("", "unix:/a")->unix_path, "/a");
  EXPECT_EQ(resolve_address("unix:/b", "unix:/a")->unix_path, "/b");
  const Result<http::Endpoint> tcp = resolve_address("http://gpu1:7300", "");
  ASSERT_TRUE(tcp);
  EXPECT_EQ(tcp->host, "gpu1");
  EXPECT_EQ(tcp->port, 7300);
}

TEST(ResolveAddress, says_which_of_them_is_wrong) {
  EXPECT_THAT(resolve_address("nonsense", "unix:/a").error().message, HasSubstr("--url"));
  EXPECT_THAT(resolve_address("", "unix:relative").error().message, HasSubstr("K3D_URL"));
}

class TokenFile : public testing::Test {
 protected:
  std::string write(const std::string& content) {
    std::ofstream(path_) << content;
    return path_;
  }
  ~TokenFile() override { std::filesystem::remove(path_); }
  std::string path_ = std::filesystem::temp_directory_path() / ("k3ctl-token-" + std::to_string(::getpid()));
};

TEST_F(TokenFile, is_read_without_white_space_and_wins) {
  EXPECT_EQ(resolve_token(write(" abc\n"), "env")->reveal(), "abc");
  EXPECT_EQ(resolve_token("", " env\n")->reveal(), "env");
  EXPECT_TRUE(resolve_token("", "")->empty());
}

TEST_F(TokenFile, that_is_empty_or_missing_is_an_error) {
  EXPECT_FALSE(resolve_token(write("\n"), "env"));
  EXPECT_EQ(resolve_token("/nonexistent/token", "env").error().code, Code::not_found);
}

TEST(UnreachableAdvice, says_what_to_do) {
  http::Endpoint socket;
  socket.unix_path = "/run/k3d/control.sock";
  EXPECT_THAT(unreachable_advice(socket, {}), HasSubstr("systemctl start k3d"));
  EXPECT_THAT(unreachable_advice(socket, {true, false, "operators"}), HasSubstr("usermod -aG operators"));
  EXPECT_THAT(unreachable_advice(socket, {true, false, ""}), HasSubstr("usermod -aG k3d"));
  EXPECT_THAT(unreachable_advice(socket, {true, true, "k3d"}), HasSubstr("nobody listens"));
  http::Endpoint tcp;
  tcp.host = "gpu1";
  tcp.port = 7300;
  EXPECT_THAT(unreachable_advice(tcp, {}), HasSubstr("control.listen"));
}

TEST(LookAtSocket, tells_missing_from_present) {
  EXPECT_FALSE(look_at_socket("/nonexistent/control.sock").exists);
  EXPECT_TRUE(look_at_socket("/proc/self/exe").exists);
}

}  // namespace
}  // namespace k3d::api
