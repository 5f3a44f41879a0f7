#include "api/http/listener.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace k3d::api {
namespace {

class Listener : public testing::Test {
 protected:
  Listener() : folder_(std::filesystem::temp_directory_path() / ("k3d-listener-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Listener() override {
    for (const int fd : open_) ::close(fd);
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string path() const { return folder_ / "control.sock"; }
  Result<Listening> on(const std::string& address, const std::string& group = {}, const std::vector<int>& passed = {}) {
    auto listening = listen_on(address, group, passed);
    if (listening) open_.push_back(listening->fd);
    return listening;
  }

  std::filesystem::path folder_;
  std::vector<int> open_;
};

TEST_F(Listener, unix_socket_is_for_its_group_whatever_the_umask) {
  for (const mode_t mask : {0000U, 0022U, 0077U}) {
    const mode_t before = ::umask(mask);
    const auto listening = on("unix:" + path());
    ::umask(before);
    ASSERT_TRUE(listening.has_value()) << listening.error().text();
    EXPECT_TRUE(listening->unix_socket);
    EXPECT_EQ(listening->unlink, path());
    struct stat st{};
    ASSERT_EQ(::stat(path().c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777U, 0660U);
    ::close(open_.back());
    open_.pop_back();
  }
}

TEST_F(Listener, a_stale_socket_file_is_replaced_and_a_live_one_is_not) {
  ASSERT_TRUE(on("unix:" + path()).has_value());
  const auto second = on("unix:" + path());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_NE(second.error().message.find("process " + std::to_string(::getpid())), std::string::npos)
      << second.error().text();
  ::close(open_.back());
  open_.pop_back();
  EXPECT_TRUE(on("unix:" + path()).has_value()) << "nobody answers on it any more";
}

TEST_F(Listener, the_folder_lets_the_group_through_whatever_the_umask) {
  const mode_t before = ::umask(0077);
  const auto listening = on("unix:" + (folder_ / "run" / "control.sock").string());
  ::umask(before);
  ASSERT_TRUE(listening.has_value()) << listening.error().text();
  struct stat st{};
  ASSERT_EQ(::stat((folder_ / "run").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0755U);
}

TEST_F(Listener, a_file_that_is_no_socket_is_left_alone) {
  std::ofstream(path()) << "precious";
  EXPECT_FALSE(on("unix:" + path()).has_value());
  EXPECT_EQ(std::filesystem::file_size(path()), 8U);
}

TEST_F(Listener, groups_by_name) {
  const auto unknown = on("unix:" + path(), "no-such-group-of-k3d");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, Code::config_invalid);
  const group* own = ::getgrgid(::getegid());
  ASSERT_NE(own, nullptr);
  EXPECT_TRUE(on("unix:" + path(), own->gr_name).has_value());
}

TEST_F(Listener, tcp_addresses) {
  const auto first = on("127.0.0.1:0");
  ASSERT_TRUE(first.has_value()) << first.error().text();
  EXPECT_FALSE(first->unix_socket);
  for (const char* bad : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "here:80", ":80", "", "unix:"}) {
    EXPECT_FALSE(on(bad).has_value()) << bad;
  }
  EXPECT_FALSE(on("unix:/" + std::string(200, 'x')).has_value());
}

TEST_F(Listener, passed_sockets_are_matched_by_address) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  const std::string file = path();
  std::copy(file.begin(), file.end(), un.sun_path);
  const int passed = ::socket(AF_UNIX, SOCK_STREAM, 0);
  open_.push_back(passed);
  ASSERT_EQ(::bind(passed, reinterpret_cast<const sockaddr*>(&un), sizeof un), 0);
  ASSERT_EQ(::listen(passed, 5), 0);
  const std::vector<int> from_systemd{passed};
  const auto listening = listen_on("unix:" + path(), {}, from_systemd);
  ASSERT_TRUE(listening.has_value()) << listening.error().text();
  EXPECT_EQ(listening->fd, passed);
  EXPECT_EQ(listening->unlink, "") << "systemd's own";
  EXPECT_FALSE(on("unix:" + path() + "2", {}, from_systemd)->unlink.empty());
}

}  // namespace
}  // namespace k3d::api
