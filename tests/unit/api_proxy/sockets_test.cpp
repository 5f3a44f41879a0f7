// Listening sockets that outlive the process: kept by the service manager, passed to the next one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

const std::string kPost = request("POST", "/v1/x", "{}");

/// A listening socket as another process would have left it; the service manager's own duplicate of it stays open.
class Kept {
 public:
  Kept() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof in;
    const bool bound = ::bind(fd_, reinterpret_cast<sockaddr*>(&in), sizeof in) == 0 && ::listen(fd_, 16) == 0 &&
                       ::getsockname(fd_, reinterpret_cast<sockaddr*>(&in), &size) == 0;
    EXPECT_TRUE(bound);
    port = ntohs(in.sin_port);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { ::close(fd_); }

  [[nodiscard]] std::string name() const { return "proxy-127.0.0.1-" + std::to_string(port); }
  [[nodiscard]] PassedSocket passed(std::string under) const {
    return {::fcntl(fd_, F_DUPFD_CLOEXEC, 3), std::move(under)};
  }
  [[nodiscard]] PassedSocket passed() const { return passed(name()); }
  [[nodiscard]] Settings wanted() const {
    Settings settings = two_profiles();
    settings.proxy.listen = {"127.0.0.1:" + std::to_string(port)};
    return settings;
  }
  /// Whether somebody could connect.
  [[nodiscard]] bool listens() const {
    int listening = 0;
    socklen_t size = sizeof listening;
    return ::getsockopt(fd_, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening != 0;
  }

  std::uint16_t port = 0;

 private:
  int fd_;
};

bool was_told(const Rig& rig, const std::string& line) {
  const std::vector<std::string> lines = rig.notified();
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST(Sockets, are_given_to_the_service_manager_under_a_name_that_it_takes) {
  Rig rig;
  EXPECT_TRUE(was_told(rig, "keep proxy-127.0.0.1-" + std::to_string(rig.port())));
}

TEST(Sockets, a_client_that_came_while_nobody_ran_is_answered) {
  const Kept kept;
  RawClient early = RawClient::tcp(kept.port);
  early.send(kPost);
  Rig rig(answer_ok, kept.wanted(), {}, {kept.passed()});
  EXPECT_EQ(rig.port(), kept.port);
  EXPECT_EQ(early.reply().status, 200);
  EXPECT_EQ(rig.ask(kPost).status, 200);
  EXPECT_TRUE(was_told(rig, "keep " + kept.name()));
}

TEST(Sockets, stay_open_over_any_number_of_restarts) {
  const Kept kept;
  for (int round = 0; round < 20; ++round) {
    Rig rig(answer_ok, kept.wanted(), {}, {kept.passed()});
    EXPECT_EQ(rig.ask(kPost).status, 200);
    rig.stop(seconds(0));
    RawClient meanwhile = RawClient::tcp(kept.port);
    meanwhile.send(kPost);
    EXPECT_TRUE(kept.listens());
    Rig next(answer_ok, kept.wanted(), {}, {kept.passed()});
    EXPECT_EQ(meanwhile.reply().status, 200) << "round " << round;
  }
}

TEST(Sockets, of_addresses_that_are_no_longer_wanted_end) {
  const Kept kept;
  Rig rig(answer_ok, two_profiles(), {}, {kept.passed()});
  EXPECT_FALSE(kept.listens()) << "not even by the service manager's duplicate";
  EXPECT_TRUE(was_told(rig, "forget " + kept.name()));
  EXPECT_EQ(rig.ask(kPost).status, 200);
}

TEST(Sockets, are_known_by_where_they_listen_and_not_by_their_name) {
  const Kept kept;
  const Kept other;
  Rig rig(answer_ok, kept.wanted(), {}, {other.passed(kept.name()), kept.passed("proxy-whatever")});
  EXPECT_EQ(rig.port(), kept.port);
  EXPECT_FALSE(other.listens());
  EXPECT_EQ(rig.ask(kPost).status, 200);
}

TEST(Sockets, an_address_in_the_way_of_a_wider_one_is_free_at_once) {
  const Kept kept;
  Settings wider = two_profiles();
  wider.proxy.listen = {"0.0.0.0:" + std::to_string(kept.port)};
  Rig rig(answer_ok, wider, {}, {kept.passed()});
  EXPECT_EQ(rig.ask(kPost).status, 200);
}

TEST(Sockets, of_other_names_are_somebody_elses) {
  const Kept kept;
  const PassedSocket control = kept.passed("control");
  Rig rig(answer_ok, two_profiles(), {}, {control});
  EXPECT_TRUE(kept.listens());
  EXPECT_EQ(::close(control.fd), 0) << "it was left open";
}

TEST(Sockets, what_does_not_listen_is_not_taken) {
  const int plain = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Rig rig(answer_ok, two_profiles(), {}, {{plain, "proxy-127.0.0.1-1"}});
  EXPECT_TRUE(was_told(rig, "forget proxy-127.0.0.1-1"));
  EXPECT_EQ(rig.ask(kPost).status, 200);
}

}  // namespace
}  // namespace k3d::test
