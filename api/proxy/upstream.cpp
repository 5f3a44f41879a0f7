#include "api/proxy/upstream.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/base/async/sleep.hpp"

namespace k3d::proxy {
namespace {

constexpr std::size_t kIdleMost = 64;
constexpr seconds kIdleLimit{3};

std::string key_of(const EngineAddress& address) {
  return address.unix_path.empty() ? std::to_string(address.port) : address.unix_path;
}

/// Whether the other side has neither closed nor sent anything unasked.
bool quiet(Socket& socket) {
  char byte = 0;
  const ssize_t n = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

std::unexpected<Error> unreachable(std::string cause) {
  return fail(Code::upstream_failed, "the engine can't be reached", "k3ctl status says what happened to it",
              std::move(cause));
}

/// One try, without waiting: a unix socket accepts at once, or its backlog is full (EAGAIN). Asio's own connect takes a
/// full backlog for a connection.
int connect_now(const std::string& path, int& number) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (path.size() >= sizeof un.sun_path) {
    number = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(un.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&un), sizeof un) == 0) return fd;
  number = errno;
  if (fd >= 0) ::close(fd);
  return -1;
}

Task<Result<Socket>> connect_unix(std::string path, milliseconds limit, const bool& given_up) {
  const auto executor = co_await asio::this_coro::executor;
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  milliseconds pause{1};
  for (;;) {
    int number = 0;
    const int fd = connect_now(path, number);
    if (fd >= 0) {
      Socket socket(executor);
      boost::system::error_code failed;
      socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), fd, failed);
      if (!failed) co_return socket;
      ::close(fd);
      co_return unreachable(failed.message());
    }
    if (number != EAGAIN) co_return unreachable(std::strerror(number));
    if (given_up || std::chrono::steady_clock::now() >= deadline) co_return unreachable("it accepts no connection");
    if (!co_await sleep_for(pause)) co_return unreachable("cancelled");
    pause = std::min(pause * 2, milliseconds(50));
  }
}

Task<Result<Socket>> connect_tcp(std::uint16_t port, milliseconds limit) {
  asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
  asio::steady_timer timer(socket.get_executor(), limit);
  timer.async_wait([&socket](const boost::system::error_code& cancelled) {
    boost::system::error_code ignored;
    if (!cancelled) socket.close(ignored);
  });
  const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  const auto [ec] = co_await socket.async_connect(endpoint, tok);
  timer.cancel();
  if (ec) co_return unreachable(ec.message());
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  co_return Socket(std::move(socket));
}

}  // namespace

void Upstream::close() {
  boost::system::error_code ignored;
  socket.shutdown(Socket::shutdown_both, ignored);
  socket.close(ignored);
}

Task<Result<UpstreamPtr>> UpstreamPool::take(EngineAddress address, bool fresh, milliseconds limit,
                                             const bool& given_up) {
  const std::string key = key_of(address);
  for (auto it = idle_.begin(); it != idle_.end() && !fresh;) {
    if (it->key != key) {
      ++it;
      continue;
    }
    UpstreamPtr upstream = std::move(it->upstream);
    it = idle_.erase(it);
    if (!quiet(upstream->socket)) continue;
    upstream->reused = true;
    co_return upstream;
  }
  Result<Socket> socket = unreachable({});
  if (address.unix_path.empty()) {
    socket = co_await connect_tcp(address.port, limit);
  } else {
    socket = co_await connect_unix(address.unix_path, limit, given_up);
  }
  if (!socket) co_return fail(socket.error());
  co_return std::make_shared<Upstream>(std::move(*socket));
}

void UpstreamPool::give_back(const EngineAddress& address, UpstreamPtr upstream) {
  idle_.push_front({key_of(address), std::move(upstream), std::chrono::steady_clock::now()});
  if (idle_.size() > kIdleMost) idle_.pop_back();
}

void UpstreamPool::close_idle() {
  idle_.clear();
}

void UpstreamPool::sweep(SteadyTime now) {
  idle_.remove_if([now](const Idle& idle) { return now - idle.since >= kIdleLimit; });
}

}  // namespace k3d::proxy
