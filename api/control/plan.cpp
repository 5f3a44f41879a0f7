// plan: would this run here, and how; nothing is changed by asking.
#include "api/contract/plan.hpp"

#include "api/control/control.hpp"
#include "api/http/problem.hpp"

namespace k3d::api {
namespace {

Task<void> post_plan(ControlDependencies& deps, Exchange& exchange) {
  Result<PlanQuestion> question = parse_plan_request(exchange.body());
  if (!question) {
    co_await exchange.reply(problem_response(question.error()));
    co_return;
  }
  const Result<PlanAnswer> answer = co_await deps.planner->plan(std::move(*question));
  co_await exchange.reply(answer ? json_response(200, plan_json(*answer)) : problem_response(answer.error()));
}

}  // namespace

std::vector<Route> plan_routes(ControlDependencies& deps) {
  return {
      {"POST", "/api/v1/plan", "post_plan", Scope::write, [&deps](Exchange& e) { return post_plan(deps, e); }},
  };
}

}  // namespace k3d::api
