// The proxy's listening sockets: opened, or taken over from the process before; the Tailscale ones as soon as there is
// such an interface. Of the control loop. Not here: what becomes of a connection.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/ports/notifier.hpp"

namespace k3d::proxy {

using Acceptor = asio::ip::tcp::acceptor;
using AcceptorPtr = std::shared_ptr<Acceptor>;

class Listeners {
 public:
  /// `opened` is called for each socket once it listens, with the host under which it is asked.
  Listeners(Executor control, Notifier& notifier, std::function<void(AcceptorPtr, std::string host)> opened)
      : control_(control), notifier_(notifier), opened_(std::move(opened)) {}

  /// Whether a passed socket has a name of the proxy's.
  static bool owns(const PassedSocket& socket);
  /// Of `passed` those that it owns count: the ones that listen on a wanted address are used, the others
  /// are closed and forgotten. Errors name the address: in use, not of this host.
  Status open(const std::vector<std::string>& addresses, const std::vector<PassedSocket>& passed);
  /// Looks for new Tailscale addresses until it is cancelled; ends at once without an auto address.
  Task<void> follow_tailscale();
  /// The service manager's duplicates stay open.
  void close();
  [[nodiscard]] std::vector<std::string> addresses() const;

 private:
  using Endpoint = asio::ip::tcp::endpoint;

  [[nodiscard]] std::vector<Endpoint> tailscale_endpoints() const;
  void take(const std::vector<PassedSocket>& passed, const std::vector<Endpoint>& wanted);
  Status bind(const Endpoint& endpoint);
  std::size_t look_for_tailscale();

  Executor control_;
  Notifier& notifier_;
  std::function<void(AcceptorPtr, std::string)> opened_;
  std::vector<std::uint16_t> auto_ports_;
  std::map<std::string, int> passed_;  ///< by address: taken over, not used yet
  std::map<std::string, AcceptorPtr> acceptors_;
};

}  // namespace k3d::proxy
