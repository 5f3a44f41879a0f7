// Docker's JSON to the values of the port. Pure; fields that are absent in older Engines stay at "unknown".
#pragma once

#include <string_view>

#include "daemon/ports/containers.hpp"
#include "docker_driver/api.hpp"

namespace k3d::docker {

/// GET /containers/ID/json. All of these fail with `protocol` on what isn't that answer.
Result<ContainerInfo> decode_container(std::string_view body);
/// GET /containers/json: only the ids; the rest of a listing is a summary.
Result<std::vector<ContainerId>> decode_ids(std::string_view body);
/// POST /containers/create: the id, and Docker's warnings in `warnings`.
Result<ContainerId> decode_created(std::string_view body, std::vector<std::string>& warnings);
/// GET /images/NAME/json
Result<ImageInfo> decode_image(std::string_view body);
/// GET /info and GET /version
Result<DockerInfo> decode_info(std::string_view info, std::string_view version, const ApiVersion& spoken);
/// GET /containers/ID/stats; docker_refused if it has no figures
Result<ContainerStats> decode_stats(std::string_view body);
/// One line of GET /events
Result<ContainerEvent> decode_event(std::string_view line);

}  // namespace k3d::docker
