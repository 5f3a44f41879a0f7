// profiles/{name}/overrides: settings beside the configuration, such as a failure's remedy.
#include "api/contract/requests.hpp"
#include "api/control/control.hpp"
#include "api/http/problem.hpp"

namespace k3d::api {
namespace {

/// The overrides are written down before they are told: a daemon that crashes right after still has them.
Task<void> set_overrides(ControlDependencies& deps, Exchange& exchange, Overrides set, std::string reason) {
  const std::string name = exchange.parameters().at("name");
  lifecycle::OverridesAsk ask{name, std::move(set), std::move(reason), asked_by(exchange)};
  const Result<Overrides> done = deps.supervisor.override_settings(std::move(ask));
  if (!done) {
    co_await exchange.reply(problem_response(done.error()));
    co_return;
  }
  co_await deps.supervisor.recorded();
  co_await answer_profile(deps, exchange, name);
}

Task<void> post_overrides(ControlDependencies& deps, Exchange& exchange) {
  Result<OverridesRequest> request = parse_overrides_request(exchange.body());
  if (!request) {
    co_await exchange.reply(problem_response(request.error()));
    co_return;
  }
  co_await set_overrides(deps, exchange, std::move(request->set), std::move(request->reason));
}

Task<void> delete_overrides(ControlDependencies& deps, Exchange& exchange) {
  Result<std::string> reason = parse_reason_request(exchange.body());
  if (!reason) {
    co_await exchange.reply(problem_response(reason.error()));
    co_return;
  }
  co_await set_overrides(deps, exchange, Overrides(), std::move(*reason));
}

}  // namespace

std::vector<Route> override_routes(ControlDependencies& deps) {
  return {
      {"POST", "/api/v1/profiles/{name}/overrides", "set_overrides", Scope::write,
       [&deps](Exchange& e) { return post_overrides(deps, e); }},
      {"DELETE", "/api/v1/profiles/{name}/overrides", "clear_overrides", Scope::write,
       [&deps](Exchange& e) { return delete_overrides(deps, e); }},
  };
}

}  // namespace k3d::api
