// Pure: which CDI devices a profile's GPUs are.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/settings.hpp"
#include "daemon/ports/containers.hpp"

namespace k3d::lifecycle {

/// CDI names ("nvidia.com/gpu=GPU-…") for `gpus`. By UUID where Docker knows the device so, since indexes move when
/// a card falls off the bus; by index where the CDI specification names only those. `uuids` is this host's, by index.
/// Error start_refused, naming what Docker knows.
Result<std::vector<std::string>> cdi_devices(const Gpus& gpus, const DockerInfo& docker,
                                             const std::vector<std::string>& uuids);

}  // namespace k3d::lifecycle
