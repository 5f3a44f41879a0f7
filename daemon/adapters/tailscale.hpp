// This host's address in a tailnet, by the name of its interface; nothing is asked of Tailscale.
#pragma once

#include <string>

namespace k3d::adapters {

/// The first IPv4 address of an interface named tailscale*, else its first IPv6 one; empty: none.
std::string tailscale_address();

}  // namespace k3d::adapters
