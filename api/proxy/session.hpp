// A client's connection on the proxy: heads in order, each refused, answered by k3d itself, or relayed.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "daemon/base/async/task.hpp"

namespace k3d::proxy {

class Worker;

/// Until the client leaves, breaks the protocol, or the socket is closed from outside.
Task<void> run_session(Worker& worker, std::shared_ptr<asio::ip::tcp::socket> socket);

}  // namespace k3d::proxy
