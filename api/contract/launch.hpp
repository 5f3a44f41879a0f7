// What an activation would start: the answer to dry_run, with the launch also as the `docker run` line a person knows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/model/launch.hpp"

namespace k3d::api {

using Json = nlohmann::ordered_json;

/// {"profile", "image", "image_id", "argv", "weight_bytes", "docker_run"}; the command as whoever starts containers
/// would write it.
Json launch_object(const Launch& launch, const std::vector<std::string>& docker_run);

/// Answer of an activation with dry_run: {"profile", "plan", "load_seconds", "streams_to_drain", "launch"}. Plan and
/// time are null where they aren't known.
std::string dry_run_json(const Launch& launch, const std::vector<std::string>& docker_run,
                         std::uint64_t streams_to_drain);

}  // namespace k3d::api
