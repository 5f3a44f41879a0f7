// A plan as the API tells it, and the question that it answers; both ways, since k3ctl makes the one and reads the other.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::api {

using Json = nlohmann::ordered_json;

std::string_view to_string(Verdict verdict);
std::string_view to_string(Proof proof);

Json planned_device_object(const PlannedDevice& device);
Json plan_object(const PlanAnswer& answer);
std::string plan_json(const PlanAnswer& answer);
/// What plan_json writes; words of a newer daemon that aren't known are errors. `settled` stays empty.
Result<PlanAnswer> plan_from_json(std::string_view text);

/// The body of POST plan. Error invalid_request, naming the field and what is allowed. Numbers and words that the
/// configuration has rules for are checked by those, later.
Result<PlanQuestion> parse_plan_request(std::string_view body);
std::string plan_request_json(const PlanQuestion& question);

}  // namespace k3d::api
