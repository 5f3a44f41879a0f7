// Listen addresses: their syntax and who can reach them. Only literals: a name could come to mean anything later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"

namespace k3d::config {

struct Address {
  enum class Kind { unix_socket, tcp, automatic };
  enum class Reach { loopback, tailscale, elsewhere };

  Kind kind = Kind::tcp;
  std::string host;  ///< as the system would print it, without brackets; of unix_socket: the path
  std::uint16_t port = 0;
  Reach reach = Reach::loopback;
};

/// "unix:/path", "auto:PORT", "HOST:PORT" with an IPv4 address, an IPv6 address in brackets or localhost.
/// The error's message says what is wrong, to follow the quoted address.
Result<Address> parse_address(std::string_view text);

/// Whether the two can't both be listened on.
bool collide(const Address& a, const Address& b);

}  // namespace k3d::config
