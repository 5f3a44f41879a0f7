#include "tests/component/docker/cut_relay.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "daemon/base/secret.hpp"
#include "tests/component/docker/engine.hpp"

namespace k3d::docker::real {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof(address.sun_path) - 1));
  return address;
}

int connect_to(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  ::close(fd);
  return -1;
}

bool send_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(fd, data, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

CutRelay::CutRelay(Budget budget)
    : budget_(std::move(budget)), path_(std::filesystem::temp_directory_path() / ("k3d-relay-" + random_hex(6))) {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path_);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_, 16) != 0) {
    throw std::runtime_error("can't listen at " + path_);
  }
  acceptor_ = std::thread([this] { accept_loop(); });
}

CutRelay::~CutRelay() {
  ending_ = true;
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
  ::close(listener_);
  std::filesystem::remove(path_);
}

void CutRelay::accept_loop() {
  while (!ending_) {
    pollfd ready{listener_, POLLIN, 0};
    if (::poll(&ready, 1, 50) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) connections_.emplace_back([this, client] { serve(client); });
  }
}

void CutRelay::serve(int client) {
  const int engine = connect_to(kSocket);
  std::string request;
  std::size_t budget = kWhole;
  std::array<char, 16'384> piece{};
  std::array<pollfd, 2> ready{{{client, POLLIN, 0}, {engine, POLLIN, 0}}};
  while (engine >= 0 && !ending_) {
    if (::poll(ready.data(), ready.size(), 50) <= 0) continue;
    if (ready[0].revents != 0) {
      const ssize_t n = ::recv(client, piece.data(), piece.size(), 0);
      if (n <= 0 || !send_all(engine, piece.data(), static_cast<std::size_t>(n))) break;
      if (request.empty()) {
        request.assign(piece.data(), static_cast<std::size_t>(n));
        request.resize(std::min(request.find('\r'), request.size()));
        budget = budget_(request);
      }
    }
    if (ready[1].revents != 0) {
      const ssize_t n = ::recv(engine, piece.data(), piece.size(), 0);
      if (n <= 0) break;
      const std::size_t allowed = std::min(budget, static_cast<std::size_t>(n));
      if (!send_all(client, piece.data(), allowed)) break;
      if (budget != kWhole) budget -= allowed;
      if (budget == 0) {
        ++cuts_;
        break;
      }
    }
  }
  if (engine >= 0) ::close(engine);
  ::close(client);
}

}  // namespace k3d::docker::real
