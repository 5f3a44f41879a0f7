#include "tests/unit/api_proxy/fake_engine.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace k3d::test {

bool EngineConnection::fill() {
  std::array<char, 65536> piece;
  const ssize_t n = ::recv(fd_, piece.data(), piece.size(), 0);
  if (n <= 0) return false;
  kept_.append(piece.data(), static_cast<std::size_t>(n));
  return true;
}

bool EngineConnection::read_head() {
  std::size_t end = kept_.find("\r\n\r\n");
  while (end == std::string::npos) {
    if (!fill()) return false;
    end = kept_.find("\r\n\r\n");
  }
  head = kept_.substr(0, end + 4);
  kept_.erase(0, end + 4);
  seen_(head);
  return true;
}

bool EngineConnection::read_request() {
  return read_head() && read_body();
}

std::size_t EngineConnection::waiting() const {
  int bytes = 0;
  return ::ioctl(fd_, FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

bool EngineConnection::read_body() {
  body.clear();
  const std::size_t length_at = head.find("Content-Length: ");
  if (length_at != std::string::npos) {
    const std::size_t length = std::stoul(head.substr(length_at + 16));
    while (kept_.size() < length) {
      if (!fill()) return false;
    }
    body = kept_.substr(0, length);
    kept_.erase(0, length);
  }
  if (head.find("Transfer-Encoding: chunked") == std::string::npos) return true;
  for (std::size_t size = 1; size > 0;) {
    while (kept_.find("\r\n") == std::string::npos) {
      if (!fill()) return false;
    }
    size = std::stoul(kept_, nullptr, 16);
    const std::size_t begin = kept_.find("\r\n") + 2;
    while (kept_.size() < begin + size + 2) {
      if (!fill()) return false;
    }
    body += kept_.substr(begin, size);
    kept_.erase(0, begin + size + 2);
  }
  return true;
}

bool EngineConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool EngineConnection::answer(std::string_view text, std::string_view lines) {
  return send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + std::string(lines) +
              "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + std::string(text));
}

bool EngineConnection::left(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    pollfd waiting{fd_, POLLIN, 0};
    const auto remaining =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (remaining <= 0 || ::poll(&waiting, 1, static_cast<int>(remaining)) <= 0) return false;
    std::array<char, 65536> piece;
    if (::recv(fd_, piece.data(), piece.size(), 0) <= 0) return true;
  }
}

void EngineConnection::close() {
  ::shutdown(fd_, SHUT_RDWR);
}

void EngineConnection::reset() {
  ::shutdown(fd_, SHUT_RDWR);
}

FakeEngine::FakeEngine(Script script) : script_(std::move(script)) {
  static std::atomic<int> count{0};
  path_ = "/tmp/k3d-engine-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".sock";
  ::unlink(path_.c_str());
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path_.data(), path_.size());
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&un), sizeof un) != 0 || ::listen(listener_, 5) != 0) {
    throw std::runtime_error("the fake engine can't listen");
  }
  acceptor_ = std::thread([this] { accept(); });
}

FakeEngine::~FakeEngine() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : fds_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int fd : fds_) ::close(fd);
  ::close(listener_);
  ::unlink(path_.c_str());
}

void FakeEngine::accept() {
  while (!stopping_) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const std::lock_guard lock(mutex_);
    fds_.push_back(fd);
    ++open_;
    threads_.emplace_back([this, fd, number = connections_++] {
      EngineConnection connection(fd, number, [this](const std::string& head) {
        const std::lock_guard inner(mutex_);
        heads_.push_back(head);
      });
      script_(connection);
      const std::lock_guard last(mutex_);
      fds_.remove(fd);
      ::close(fd);
      --open_;
    });
  }
}

std::size_t FakeEngine::requests() const {
  const std::lock_guard lock(mutex_);
  return heads_.size();
}

std::vector<std::string> FakeEngine::heads() const {
  const std::lock_guard lock(mutex_);
  return heads_;
}

void answer_ok(EngineConnection& connection) {
  while (connection.read_request() && connection.answer("{\"ok\":true}")) {
  }
}

}  // namespace k3d::test
