// The control API's routes: one file per resource, all of the control loop.
#pragma once

#include <functional>
#include <vector>

#include "api/http/router.hpp"
#include "daemon/lifecycle/supervisor.hpp"
#include "daemon/model/host_report.hpp"
#include "daemon/model/reload.hpp"
#include "daemon/ports/containers.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::api {

struct ControlDependencies {
  lifecycle::Supervisor& supervisor;
  Containers& containers;
  /// The container as a command that people know, for dry runs.
  std::function<std::vector<std::string>(const LaunchSpec&)> docker_run;
  /// Reads the configuration again. Errors: config_invalid, with every mistake; shutting_down.
  std::function<Task<Result<ReloadOutcome>>(std::string asked_by, std::string reason)> reload;
  /// Looks at this host, which takes some seconds; reads from the disks, too, if `probe_disks`.
  std::function<Task<HostDiagnosis>(bool probe_disks)> host = {};
  Planner* planner = nullptr;  ///< of plan, quants and profiles
};

/// Every route of openapi.yaml, and no other. `deps` outlives the routes.
std::vector<Route> control_routes(ControlDependencies& deps);

std::vector<Route> status_routes(ControlDependencies& deps);
std::vector<Route> event_routes(ControlDependencies& deps);
std::vector<Route> profile_routes(ControlDependencies& deps);
std::vector<Route> override_routes(ControlDependencies& deps);
std::vector<Route> operation_routes(ControlDependencies& deps);
std::vector<Route> log_routes(ControlDependencies& deps);
std::vector<Route> audit_routes(ControlDependencies& deps);
std::vector<Route> host_routes(ControlDependencies& deps);
std::vector<Route> plan_routes(ControlDependencies& deps);
std::vector<Route> quant_routes(ControlDependencies& deps);
std::vector<Route> reload_routes(ControlDependencies& deps);

/// Answers with the profile as it is now, or that there is none.
Task<void> answer_profile(ControlDependencies& deps, Exchange& exchange, std::string name);

/// Who asks, for the audit trail: "uid 1000" on the unix socket, "token from ADDRESS" on TCP.
std::string asked_by(const Exchange& exchange);

/// A whole number in a query: `fallback` when it is absent. Error invalid_request, naming what is allowed.
Result<std::int64_t> query_number(const Exchange& exchange, std::string_view name, std::int64_t fallback,
                                  std::int64_t least, std::int64_t most);

Response json_response(unsigned status, std::string body);

}  // namespace k3d::api
