// reload: read the configuration again.
#include "api/contract/audit.hpp"
#include "api/contract/requests.hpp"
#include "api/control/control.hpp"
#include "api/http/problem.hpp"

namespace k3d::api {
namespace {

Task<void> post_reload(ControlDependencies& deps, Exchange& exchange) {
  Result<std::string> reason = parse_reason_request(exchange.body());
  if (!reason) {
    co_await exchange.reply(problem_response(reason.error()));
    co_return;
  }
  const Result<ReloadOutcome> outcome = co_await deps.reload(asked_by(exchange), std::move(*reason));
  co_await exchange.reply(outcome ? json_response(200, reload_json(*outcome)) : problem_response(outcome.error()));
}

}  // namespace

std::vector<Route> reload_routes(ControlDependencies& deps) {
  return {
      {"POST", "/api/v1/reload", "reload", Scope::write, [&deps](Exchange& e) { return post_reload(deps, e); }},
  };
}

}  // namespace k3d::api
