// GET status: the whole state as JSON, and the shapes only it uses. Serialised once per revision by whoever publishes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/model/snapshot.hpp"

namespace k3d::api {

using Json = nlohmann::ordered_json;

/// Every field of the contract's status, in its order. Doesn't read `snapshot.status_json`.
std::string status_json(const Snapshot& snapshot);

Json gpu_object(const GpuState& gpu);

Json failure_object(const Failure& failure);

Json condition_object(const Condition& condition);

/// The data of a `log` event: one line of the engine of `attempt`.
std::string log_event_json(std::uint64_t attempt, std::string_view line);

}  // namespace k3d::api
