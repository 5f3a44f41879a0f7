#include "api/http/server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstring>

#include "api/http/listener.hpp"
#include "api/http/session.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"

namespace k3d::api {
namespace {

constexpr milliseconds kSweepInterval{100};

/// What the kernel says about the other end.
Peer peer_of(Server::Socket& socket, bool unix_socket) {
  Peer peer;
  peer.unix_socket = unix_socket;
  if (unix_socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0)
      peer.uid = credentials.uid;
    peer.address = "unix";
    return peer;
  }
  boost::system::error_code ec;
  const auto endpoint = socket.remote_endpoint(ec);
  asio::ip::tcp::endpoint tcp;
  if (!ec && endpoint.size() <= tcp.capacity()) {
    tcp.resize(endpoint.size());
    std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
    peer.address = tcp.address().to_string();
  }
  return peer;
}

}  // namespace

/// One listening socket.
struct Server::Door {
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor;
  bool unix_socket;
  std::string unlink;
};

/// One session and what the server needs to end it.
struct Server::Guest {
  explicit Guest(Socket s) : connection(std::move(s)) {}
  Connection connection;
};

Server::Server(Executor executor, ServerOptions options, const Router& router, AuthRules rules)
    : executor_(executor),
      options_(options),
      router_(router),
      rules_(std::move(rules)),
      tasks_(executor),
      sessions_(executor) {
  tasks_.spawn(sweep());
}

Server::~Server() = default;

Status Server::listen(const std::string& address, const std::string& group, const std::vector<int>& passed) {
  const Result<Listening> listening = listen_on(address, group, passed);
  if (!listening) return fail(listening.error());
  // The rules know this daemon under every address that it listens on.
  if (!listening->unix_socket) rules_.own_addresses.push_back(host_without_port(address));
  Door& door = doors_.emplace_back(Door{asio::basic_socket_acceptor<asio::generic::stream_protocol>(executor_),
                                        listening->unix_socket, listening->unlink});
  boost::system::error_code ec;
  const int family = listening->unix_socket ? AF_UNIX : AF_INET;
  door.acceptor.assign(asio::generic::stream_protocol(family, 0), listening->fd, ec);
  if (ec) {
    ::close(listening->fd);
    doors_.pop_back();
    return fail(Code::io_failed, "the control API can't listen on " + address, {}, ec.message());
  }
  tasks_.spawn(accept(door));
  return {};
}

Task<void> Server::accept(Door& door) {
  while (!stopping_) {
    auto [ec, socket] = co_await door.acceptor.async_accept(tok);
    if (ec == asio::error::operation_aborted || ec == asio::error::bad_descriptor) co_return;
    if (ec) {
      // Out of descriptors: a pause instead of a busy loop; the connection waits in the backlog.
      if (!co_await sleep_for(milliseconds(100))) co_return;
      continue;
    }
    // TCP can't crowd out the unix socket, on which an operator comes to see what is going on.
    if ((door.unix_socket ? local_sessions_ : tcp_sessions_) >= options_.max_sessions) continue;
    auto guest = std::make_shared<Guest>(std::move(socket));
    guest->connection.peer = peer_of(guest->connection.socket, door.unix_socket);
    if (!door.unix_socket) guest->connection.socket.set_option(asio::ip::tcp::no_delay(true), ec);  // pieces go at once
    // Counted here: more may be accepted before the session runs.
    guests_.push_back(guest);
    ++(door.unix_socket ? local_sessions_ : tcp_sessions_);
    sessions_.spawn(serve(std::move(guest)));
  }
}

Task<void> Server::serve(std::shared_ptr<Guest> guest) {
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    co_await run_session(*this, guest->connection);
  } catch (const std::exception& e) {
    log::error("a session failed", {{"what", e.what()}});
  }
  --(guest->connection.peer.unix_socket ? local_sessions_ : tcp_sessions_);
  guests_.remove(guest);
}

Task<void> Server::sweep() {
  while (co_await sleep_for(kSweepInterval)) {
    const SteadyTime now = std::chrono::steady_clock::now();
    for (const auto& guest : guests_) {
      if (guest->connection.expires <= now) guest->connection.close();
    }
  }
}

Task<void> Server::stop(seconds limit) {
  stopping_ = true;
  for (Door& door : doors_) {
    boost::system::error_code ignored;
    door.acceptor.close(ignored);
    if (!door.unlink.empty()) ::unlink(door.unlink.c_str());
  }
  for (const auto& guest : guests_) {
    if (!guest->connection.busy || guest->connection.streaming) guest->connection.close();
  }
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  while (!guests_.empty() && std::chrono::steady_clock::now() < deadline) co_await sleep_for(milliseconds(10));
  for (const auto& guest : guests_) guest->connection.close();
  co_await sessions_.join();
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace k3d::api
