// host: facts of this machine, and whether k3d would run well on it.
#include "api/contract/host.hpp"

#include "api/control/control.hpp"
#include "api/http/problem.hpp"

namespace k3d::api {
namespace {

Task<void> get_host(ControlDependencies& deps, Exchange& exchange) {
  const std::optional<std::string> probe = query_value(exchange.head().query, "probe");
  if (probe && *probe != "disk") {
    const Error error{Code::invalid_request, "\"probe\" must be disk", "without it nothing is read from the disks", {}};
    co_await exchange.reply(problem_response(error));
    co_return;
  }
  const HostDiagnosis diagnosis = co_await deps.host(probe.has_value());
  co_await exchange.reply(json_response(200, host_json(diagnosis)));
}

}  // namespace

std::vector<Route> host_routes(ControlDependencies& deps) {
  return {
      {"GET", "/api/v1/host", "get_host", Scope::read, [&deps](Exchange& e) { return get_host(deps, e); }},
  };
}

}  // namespace k3d::api
