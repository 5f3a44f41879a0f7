// One connection of the control API: requests in their order, each gated, authorised, routed and answered.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <string>

#include "api/http/exchange.hpp"
#include "daemon/base/async/task_group.hpp"
#include "daemon/base/units.hpp"

namespace k3d::api {

class Server;

struct Connection {
  explicit Connection(asio::generic::stream_protocol::socket s) : socket(std::move(s)) {}

  asio::generic::stream_protocol::socket socket;
  Peer peer;
  SteadyTime expires = SteadyTime::max();  ///< the server closes it then
  bool busy = false;                       ///< a request is being answered
  bool streaming = false;                  ///< with a body that has no end of its own
  TaskGroup* handler = nullptr;            ///< of the request that is being answered

  /// Ends every operation on it, and the handler.
  void close();
};

Task<void> run_session(Server& server, Connection& connection);

}  // namespace k3d::api
