// The way in: containers on the Docker Engine API, over a unix socket or TCP with TLS.
// Owns nothing of the lifecycle: which container is wanted, and what an exit means, is decided elsewhere.
#pragma once

#include <memory>

#include "daemon/model/settings.hpp"
#include "daemon/ports/containers.hpp"

namespace k3d::docker {

/// Containers at `settings.host`. Connects at the first call; an address that can't be read makes every call fail
/// with config_invalid. All calls must be made on the loop of `executor`.
std::unique_ptr<Containers> connect(Executor executor, const DockerSettings& settings);

/// Whether `error` of start() says that the limit of locked memory can't be lifted here: dockerd itself runs without
/// CAP_SYS_RESOURCE and under a lower limit. The same container without the ulimit starts.
bool is_memlock_refusal(const Error& error);

}  // namespace k3d::docker
