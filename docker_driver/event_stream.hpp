// Docker's events of the containers with one label, as they come. Ends with an error when the connection does; who
// reads it opens it again and looks at the containers themselves, since events are only hints.
#pragma once

#include <memory>

#include "daemon/ports/containers.hpp"
#include "docker_driver/api.hpp"

namespace k3d::docker {

Task<Result<std::unique_ptr<EventStream>>> open_events(std::shared_ptr<Api> api, std::string label);

}  // namespace k3d::docker
