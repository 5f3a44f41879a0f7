// quants: what is known of each, and whether it would run here.
#include "api/contract/quants.hpp"

#include "api/control/control.hpp"

namespace k3d::api {
namespace {

Task<void> list_quants(ControlDependencies& deps, Exchange& exchange) {
  const std::vector<QuantView> quants = co_await deps.planner->quants();
  co_await exchange.reply(json_response(200, quants_json(quants)));
}

}  // namespace

std::vector<Route> quant_routes(ControlDependencies& deps) {
  return {
      {"GET", "/api/v1/quants", "list_quants", Scope::read, [&deps](Exchange& e) { return list_quants(deps, e); }},
  };
}

}  // namespace k3d::api
