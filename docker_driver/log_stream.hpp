// The log of one container as lines, across breaks of the connection and restarts of Docker.
#pragma once

#include <memory>

#include "daemon/ports/containers.hpp"
#include "docker_driver/api.hpp"

namespace k3d::docker {

/// Opens the log at the first next(). See LogStream for what it promises.
std::unique_ptr<LogStream> open_log(Executor executor, std::shared_ptr<Api> api, ContainerId id, LogRequest request);

}  // namespace k3d::docker
