// The inference proxy: its listeners, its loops, and the traffic as the supervisor sees it.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/proxy/guard.hpp"
#include "api/proxy/worker.hpp"
#include "daemon/base/async/task_group.hpp"
#include "daemon/ports/board.hpp"
#include "daemon/ports/traffic.hpp"

namespace k3d::proxy {

class Proxy : public Traffic {
 public:
  /// `control` is the control loop; every call but view() is made there.
  Proxy(Executor control, Board& board, const Settings& settings, Limits limits = {});
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy() override;

  /// Binds every address and starts the loops. Errors name the address: in use, not allowed, not of this host.
  Status start();
  /// Accepts no more, waits up to `limit` for what is in flight, then closes every connection and joins the loops.
  Task<void> stop(seconds limit);

  Task<bool> drain(std::uint64_t generation, seconds limit) override;
  Task<void> cut(std::uint64_t generation) override;
  [[nodiscard]] ProxyView view() const override;

 private:
  using Acceptor = asio::ip::tcp::acceptor;

  Status listen_on(const std::string& address);
  Status bind(const asio::ip::tcp::endpoint& endpoint);
  Task<void> accept(std::shared_ptr<Acceptor> acceptor);
  Task<void> follow_tailscale();
  std::size_t look_for_tailscale();

  Executor control_;
  Board& board_;
  std::vector<std::string> addresses_;
  Guard guard_;
  Limits limits_;
  TaskGroup tasks_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::map<std::string, std::shared_ptr<Acceptor>> acceptors_;
  std::vector<std::uint16_t> auto_ports_;
  std::size_t next_worker_ = 0;
};

}  // namespace k3d::proxy
