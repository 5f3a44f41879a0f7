// The proxy without anything around it: proxy_server PORT SOCKET relays to whatever listens on SOCKET.
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>

#include "api/proxy/proxy.hpp"
#include "daemon/adapters/systemd.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: proxy_server PORT SOCKET\n", stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  auto settings = std::make_shared<k3d::Settings>();
  settings->proxy.listen = {std::string("127.0.0.1:") + argv[1]};
  settings->proxy.expose = k3d::Expose::all;
  auto snapshot = std::make_shared<k3d::Snapshot>();
  snapshot->settings = settings;
  snapshot->phase = k3d::Phase::ready;
  snapshot->active_profile = snapshot->target_profile = "bench";
  snapshot->route = k3d::Route{"bench", {argv[2], 0, {}}};
  k3d::Board board;
  board.publish(snapshot);
  k3d::asio::io_context loop(1);
  k3d::proxy::Proxy proxy(loop.get_executor(), board, *settings);
  const auto notifier = k3d::adapters::systemd_notifier();
  if (const k3d::Status started = proxy.start(*notifier); !started) {
    std::fprintf(stderr, "%s\n", started.error().text().c_str());
    std::_Exit(1);
  }
  proxy.open_after([]() -> k3d::Task<void> { co_return; }());
  loop.run();  // until it is killed
  return 0;
}
