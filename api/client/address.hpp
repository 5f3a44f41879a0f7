// Where the daemon is and with which token it is asked: options before environment before defaults.
// Also what to tell a person when nothing answers there. Opens no connection.
#pragma once

#include <optional>
#include <string>

#include "daemon/base/http_client.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/secret.hpp"

namespace k3d::api {

inline constexpr std::string_view kDefaultAddress = "unix:/run/k3d/control.sock";

/// `option` is --url, `environment` K3D_URL; empty means not given. Fails with invalid_request, naming which was bad.
Result<http::Endpoint> resolve_address(const std::string& option, const std::string& environment);

/// `file` is --token-file, `environment` K3D_TOKEN; empty means not given, and so does the result then.
/// The file's surrounding white space is dropped. Fails if the file can't be read or holds nothing.
Result<Secret> resolve_token(const std::string& file, const std::string& environment);

/// What keeps this user from a unix socket, as far as the file system says.
struct SocketState {
  bool exists = false;
  bool allowed = false;
  std::string group;  ///< the socket's, by name; empty if unknown
};

/// For people: why nothing answers at `endpoint`, and what to do: start the daemon, or which group to join.
std::string unreachable_advice(const http::Endpoint& endpoint, const SocketState& socket);

/// Asks the file system about `path`.
SocketState look_at_socket(const std::string& path);

}  // namespace k3d::api
