// How long and how much the proxy lets a client take. Not here: what the configuration sets (proxy.max_body_bytes).
#pragma once

#include <cstdint>

#include "daemon/base/units.hpp"

namespace k3d::proxy {

/// What one client, and all of them, may take. Per loop where it says so.
struct Limits {
  milliseconds idle{60'000};           ///< between requests
  milliseconds head{10'000};           ///< from a head's first byte to its end, in all
  milliseconds body_patience{60'000};  ///< of waiting for a body, beside a second for every KiB that came
  milliseconds write{600'000};         ///< a client that doesn't read
  milliseconds linger{2'000};          ///< for a client to read its last answer
  milliseconds connect{10'000};        ///< to the engine
  std::uint64_t in_flight = 512;       ///< requests, per loop
  std::uint64_t sessions = 4096;       ///< per loop; also bounded by the descriptors that the process may have
};

}  // namespace k3d::proxy
