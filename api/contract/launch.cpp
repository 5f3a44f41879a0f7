#include "api/contract/launch.hpp"

#include "api/contract/plan.hpp"
#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

/// All files of a launch are here.
PlanAnswer answer_of(const Launch& launch) {
  PlanAnswer answer;
  answer.plan = *launch.plan;
  answer.present_bytes = launch.weight_bytes;
  answer.argv = launch.argv;
  return answer;
}

}  // namespace

Json launch_object(const Launch& launch, const std::vector<std::string>& docker_run) {
  Json out = Json::object();
  out["profile"] = launch.profile;
  out["image"] = text_or_null(launch.container.image);
  out["image_id"] = text_or_null(launch.image_id);
  out["argv"] = Json(launch.argv);
  out["weight_bytes"] = launch.weight_bytes;
  out["docker_run"] = Json(docker_run);
  return out;
}

std::string dry_run_json(const Launch& launch, const std::vector<std::string>& docker_run,
                         std::uint64_t streams_to_drain) {
  Json out = Json::object();
  out["profile"] = launch.profile;
  out["plan"] = launch.plan == nullptr ? Json(nullptr) : plan_object(answer_of(launch));
  out["load_seconds"] = number_or_null(launch.plan == nullptr ? std::nullopt : launch.plan->load_seconds);
  out["streams_to_drain"] = streams_to_drain;
  out["launch"] = launch_object(launch, docker_run);
  return dump_json(out);
}

}  // namespace k3d::api
