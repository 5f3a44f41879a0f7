#include "tests/unit/api_http/raw_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace k3d::test {
namespace {

using Clock = std::chrono::steady_clock;

int left_of(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

std::optional<std::string> find_field(const std::string& head, std::string_view name) {
  std::size_t at = head.find("\r\n");
  while (at != std::string::npos && at + 2 < head.size()) {
    const std::size_t begin = at + 2;
    at = head.find("\r\n", begin);
    const std::string line = head.substr(begin, at - begin);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    const std::size_t value = line.find_first_not_of(' ', name.size() + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return std::nullopt;
}

}  // namespace

std::string Reply::field(std::string_view name) const {
  return find_field(head, name).value_or("");
}

bool Reply::has(std::string_view name) const {
  return find_field(head, name).has_value();
}

RawClient RawClient::tcp(std::uint16_t port, int receive_buffer) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer > 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof in) != 0) throw std::runtime_error("can't connect");
  return RawClient(fd);
}

RawClient RawClient::local(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.data(), std::min(path.size(), sizeof un.sun_path - 1));
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&un), sizeof un) != 0) throw std::runtime_error("can't connect");
  return RawClient(fd);
}

RawClient::RawClient(RawClient&& other) noexcept : fd_(other.fd_), kept_(std::move(other.kept_)), end_(other.end_) {
  other.fd_ = -1;
}

RawClient& RawClient::operator=(RawClient&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(kept_, other.kept_);
  std::swap(end_, other.end_);
  return *this;
}

RawClient::~RawClient() {
  close();
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool RawClient::fill(Clock::time_point deadline) {
  if (end_ != End::open) return false;
  pollfd waiting{fd_, POLLIN, 0};
  if (::poll(&waiting, 1, left_of(deadline)) <= 0) return false;
  std::array<char, 65536> piece;
  const ssize_t n = ::recv(fd_, piece.data(), piece.size(), 0);
  if (n > 0) kept_.append(piece.data(), static_cast<std::size_t>(n));
  if (n == 0) end_ = End::closed;
  if (n < 0) end_ = End::reset;
  return n > 0;
}

bool RawClient::read_chunked(Reply& reply, Clock::time_point deadline) {
  for (;;) {
    std::size_t line = kept_.find("\r\n");
    while (line == std::string::npos) {
      if (!fill(deadline)) return false;
      line = kept_.find("\r\n");
    }
    const std::size_t size = std::stoul(kept_, nullptr, 16);
    while (kept_.size() < line + 2 + size + 2) {
      if (!fill(deadline)) {
        reply.body += kept_.substr(std::min(line + 2, kept_.size()));
        return false;
      }
    }
    reply.body.append(kept_, line + 2, size);
    const bool ended = kept_.compare(line + 2 + size, 2, "\r\n") == 0;
    kept_.erase(0, line + 2 + size + 2);
    if (!ended) return false;
    if (size == 0) return true;
  }
}

Reply RawClient::reply(bool head_request, milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  Reply reply;
  std::size_t end = kept_.find("\r\n\r\n");
  while (end == std::string::npos) {
    if (!fill(deadline)) return reply;
    end = kept_.find("\r\n\r\n");
  }
  reply.head = kept_.substr(0, end + 4);
  kept_.erase(0, end + 4);
  reply.status = std::atoi(reply.head.c_str() + 9);
  if (head_request || reply.status < 200 || reply.status == 204 || reply.status == 304) {
    reply.complete = true;
  } else if (reply.has("Transfer-Encoding")) {
    reply.complete = read_chunked(reply, deadline);
  } else if (reply.has("Content-Length")) {
    const std::size_t length = std::stoul(reply.field("Content-Length"));
    while (kept_.size() < length && fill(deadline)) {
    }
    reply.complete = kept_.size() >= length;
    reply.body = kept_.substr(0, length);
    kept_.erase(0, length);
  } else {
    while (fill(deadline)) {
    }
    reply.body = std::move(kept_);
    kept_.clear();
    reply.complete = end_ == End::closed;
  }
  return reply;
}

std::string RawClient::some(milliseconds limit) {
  if (kept_.empty()) fill(Clock::now() + limit);
  std::string out = std::move(kept_);
  kept_.clear();
  return out;
}

std::string RawClient::all(milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (fill(deadline)) {
  }
  std::string out = std::move(kept_);
  kept_.clear();
  return out;
}

End RawClient::end(milliseconds limit) {
  all(limit);
  return end_;
}

void RawClient::half_close() {
  ::shutdown(fd_, SHUT_WR);
}

void RawClient::reset() {
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void RawClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string request(std::string_view method, std::string_view target, std::string_view body, std::string_view lines) {
  std::string out =
      std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(lines);
  if (!body.empty()) out += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return out + "\r\n" + std::string(body);
}

bool eventually(const std::function<bool()>& holds, milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (!holds()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

}  // namespace k3d::test
