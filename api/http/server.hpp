// The control API's HTTP/1.1 server: sockets to exchanges. Of one loop. Decides nothing about what is answered.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "api/http/auth.hpp"
#include "api/http/router.hpp"
#include "daemon/base/async/task_group.hpp"
#include "daemon/base/units.hpp"

namespace k3d::api {

struct ServerOptions {
  milliseconds head_deadline{10'000};  ///< from a request's first byte, in all
  milliseconds idle_limit{60'000};     ///< between requests
  milliseconds body_deadline{30'000};
  milliseconds write_limit{60'000};  ///< a client that doesn't read
  milliseconds failure_delay{200};   ///< before a 401 is answered
  Bytes max_body = kMiB;
  std::size_t max_sessions = 512;  ///< on TCP, and as many on unix sockets
};

class Server {
 public:
  using Socket = asio::generic::stream_protocol::socket;

  /// `router` outlives the server.
  Server(Executor executor, ServerOptions options, const Router& router, AuthRules rules);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// As listen_on(); accepts from now on.
  Status listen(const std::string& address, const std::string& group, const std::vector<int>& passed);
  /// Accepts no more, lets answers under way finish until `limit`, then closes everything.
  Task<void> stop(seconds limit);

  [[nodiscard]] const ServerOptions& options() const { return options_; }
  [[nodiscard]] const Router& router() const { return router_; }
  [[nodiscard]] const AuthRules& rules() const { return rules_; }
  [[nodiscard]] bool stopping() const { return stopping_; }

 private:
  struct Door;
  struct Guest;

  Task<void> accept(Door& door);
  Task<void> serve(std::shared_ptr<Guest> guest);
  Task<void> sweep();

  Executor executor_;
  ServerOptions options_;
  const Router& router_;
  AuthRules rules_;
  std::list<Door> doors_;
  std::list<std::shared_ptr<Guest>> guests_;
  TaskGroup tasks_;
  TaskGroup sessions_;
  std::size_t local_sessions_ = 0;
  std::size_t tcp_sessions_ = 0;
  bool stopping_ = false;
};

}  // namespace k3d::api
