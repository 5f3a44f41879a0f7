#include "api/proxy/upstream.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <sys/socket.h>

#include <cerrno>

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

Task<Result<Socket>> connect(EngineAddress address) {
  const auto executor = co_await asio::this_coro::executor;
  boost::system::error_code failed;
  if (address.unix_path.empty()) {
    asio::ip::tcp::socket socket(executor);
    const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), address.port);
    const auto [ec] = co_await socket.async_connect(endpoint, tok);
    if (ec) co_return fail(Code::upstream_failed, "the engine can't be reached", {}, ec.message());
    socket.set_option(asio::ip::tcp::no_delay(true), failed);
    co_return Socket(std::move(socket));
  }
  Socket socket(executor);
  const asio::local::stream_protocol::endpoint endpoint(address.unix_path);
  const auto [ec] = co_await socket.async_connect(endpoint, tok);
  if (ec) co_return fail(Code::upstream_failed, "the engine can't be reached", {}, ec.message());
  co_return socket;
}

}  // namespace

void Upstream::close() {
  boost::system::error_code ignored;
  socket.shutdown(Socket::shutdown_both, ignored);
  socket.close(ignored);
}

Task<Result<UpstreamPtr>> UpstreamPool::take(EngineAddress address, bool fresh) {
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
  Result<Socket> socket = co_await connect(std::move(address));
  if (!socket) co_return fail(socket.error());
  co_return std::make_shared<Upstream>(std::move(*socket));
}

void UpstreamPool::give_back(const EngineAddress& address, UpstreamPtr upstream) {
  idle_.push_front({key_of(address), std::move(upstream), std::chrono::steady_clock::now()});
  if (idle_.size() > kIdleMost) idle_.pop_back();
}

void UpstreamPool::close_idle() { idle_.clear(); }

void UpstreamPool::sweep(SteadyTime now) {
  idle_.remove_if([now](const Idle& idle) { return now - idle.since >= kIdleLimit; });
}

}  // namespace k3d::proxy
