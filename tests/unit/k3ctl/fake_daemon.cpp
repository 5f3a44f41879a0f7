#include "tests/unit/k3ctl/fake_daemon.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace k3d::cli::testing_support {
namespace {

std::string read_request(int fd) {
  std::string text;
  char buffer[4096];
  std::size_t needed = std::string::npos;
  while (text.size() < needed) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    const auto end = text.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    const auto at = text.find("Content-Length: ");
    needed = end + 4 + (at == std::string::npos || at > end ? 0 : std::stoul(text.substr(at + 16)));
  }
  return text;
}

Asked parse(const std::string& text) {
  Asked asked;
  const auto end = text.find("\r\n\r\n");
  asked.head = text.substr(0, end);
  if (end != std::string::npos) asked.body = text.substr(end + 4);
  std::istringstream line(text);
  line >> asked.method >> asked.target;
  return asked;
}

}  // namespace

std::string reply(unsigned status, const std::string& body, const std::string& type) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

std::string broken_reply(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + body;
}

FakeDaemon::FakeDaemon(Script script) : script_(std::move(script)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "k3ctl-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = pattern;
  path_ = folder_ / "control.sock";
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener_, 16) != 0) {
    throw std::runtime_error("bind");
  }
  acceptor_ = std::thread([this] { accept_loop(); });
}

FakeDaemon::~FakeDaemon() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  for (std::thread& connection : connections_) connection.join();
  std::filesystem::remove_all(folder_);
}

std::vector<Asked> FakeDaemon::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void FakeDaemon::accept_loop() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    connections_.emplace_back([this, fd] { serve(fd); });
  }
}

void FakeDaemon::serve(int fd) {
  const Asked asked = parse(read_request(fd));
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(asked);
  }
  const std::string answer = script_(asked);
  std::size_t sent = 0;
  while (sent < answer.size()) {
    const ssize_t n = ::send(fd, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  ::close(fd);
}

Outcome k3ctl(const std::string& url, std::vector<std::string> args, Terminal terminal, milliseconds patience,
              const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out, err;
  Environment environment;
  environment.url = url;
  Outcome outcome;
  outcome.status = run(args, environment, {in, out, err, terminal, patience});
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

}  // namespace k3d::cli::testing_support
