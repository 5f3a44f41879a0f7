// Who may ask the control API what. Pure but for this host's name.
#pragma once

#include <string>
#include <vector>

#include "api/http/exchange.hpp"
#include "api/http/router.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/secret.hpp"

namespace k3d::api {

struct AuthRules {
  Secret full_token;
  Secret read_token;                       ///< empty: there is none
  std::vector<std::string> allowed_hosts;  ///< beside this host's own names and addresses
  std::vector<std::string> own_addresses;  ///< that the server listens on: hosts, but no origins
};

/// "name", "name:port" or "[v6]:port" in lower case, without the port.
std::string host_without_port(std::string_view host);

/// Whether `host` (a Host field) is loopback, this host's name (also under .ts.net) or one of `allowed`.
bool host_allowed(std::string_view host, const std::vector<std::string>& allowed);

/// On a unix socket the file's permissions have decided; on TCP: Host, Origin, token. Errors: host_not_allowed,
/// origin_not_allowed, unauthorized, forbidden.
Status authorise(const RequestHead& head, const Peer& peer, Scope scope, const AuthRules& rules);

/// A body must be application/json. Error unsupported_media_type.
Status check_content_type(const RequestHead& head);

}  // namespace k3d::api
