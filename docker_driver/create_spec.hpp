// From a launch specification to the body of POST /containers/create. Pure: what the engine may do is decided here
// and in the specification, never by a request.
#pragma once

#include <string>

#include "daemon/model/launch.hpp"

namespace k3d::docker {

// The fixed part of every container, shared with the `docker run` line.
// noexec stays on /tmp: nothing that an engine runs comes from there (CUDA's JIT cache holds data for the GPU), and
// whatever an attacker writes can't be started. 1 GiB, since tmpfs is memory.
inline constexpr const char* kTmpOptions = "rw,noexec,nosuid,nodev,size=1g";
// llama-server has a thread per connection besides its workers; this stops only a runaway.
inline constexpr int kPidsLimit = 8192;
inline constexpr int kStopTimeoutSeconds = 30;
inline constexpr const char* kLogMaxSize = "10m";
inline constexpr const char* kLogMaxFile = "3";

/// The JSON body.
std::string create_body(const LaunchSpec& spec);

}  // namespace k3d::docker
