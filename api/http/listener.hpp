// Listening sockets of the control API: unix sockets, TCP, and those that systemd passed.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"

namespace k3d::api {

struct Listening {
  int fd = -1;  ///< owned by whoever gets it
  bool unix_socket = false;
  std::string unlink;  ///< the socket file to remove at the end; empty for passed sockets and TCP
};

/// `address` is "unix:/path" or "HOST:PORT". One of `passed` that is bound to it is used instead of a new one. A unix
/// socket gets mode 0660 and `group` (empty: k3d's own); a file that nobody listens on any more is replaced.
/// Errors: conflict if the address is in use; config_invalid; io_failed.
Result<Listening> listen_on(const std::string& address, const std::string& group, const std::vector<int>& passed);

}  // namespace k3d::api
