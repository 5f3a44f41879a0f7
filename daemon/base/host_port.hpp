// "HOST:PORT" as addresses to listen on are written: IPv6 in brackets, localhost for 127.0.0.1.
// Not here: who may reach an address (config/address), and binding it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"

namespace k3d {

struct HostPort {
  std::string host;  ///< without brackets; not looked at further
  std::uint16_t port = 0;
};

/// Error config_invalid if there is no port from 0 to 65535 behind the last colon. Port 0 is any that is free.
Result<HostPort> parse_host_port(std::string_view text);

}  // namespace k3d
