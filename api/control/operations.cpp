// operations: list, look, cancel.
#include "api/contract/operation.hpp"

#include <algorithm>

#include "api/contract/values.hpp"
#include "api/control/control.hpp"
#include "api/http/problem.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

Task<void> list_operations(ControlDependencies& deps, Exchange& exchange) {
  const auto limit = query_number(exchange, "limit", 100, 1, 1000);
  if (!limit) {
    co_await exchange.reply(problem_response(limit.error()));
    co_return;
  }
  const std::string after = query_value(exchange.head().query, "after").value_or("");
  const std::vector<Operation> all = deps.supervisor.operations().list();
  auto it = all.begin();
  if (!after.empty()) {
    it = std::find_if(all.begin(), all.end(), [&after](const Operation& o) { return o.id.value == after; });
    if (it != all.end()) ++it;
  }
  Json items = Json::array();
  std::optional<std::string> next;
  for (; it != all.end(); ++it) {
    if (items.size() == static_cast<std::size_t>(*limit)) {
      next = std::prev(it)->id.value;
      break;
    }
    items.push_back(operation_object(*it));
  }
  co_await exchange.reply(json_response(200, list_json(items, next)));
}

Task<void> get_operation(ControlDependencies& deps, Exchange& exchange) {
  const OperationId id(exchange.parameters().at("id"));
  const Operation* operation = deps.supervisor.operations().find(id);
  if (operation == nullptr) {
    const Error error{Code::not_found, "there is no operation \"" + id.value + "\"", "k3ctl ops lists them", {}};
    co_await exchange.reply(problem_response(error));
    co_return;
  }
  co_await exchange.reply(json_response(200, operation_json(*operation)));
}

Task<void> cancel_operation(ControlDependencies& deps, Exchange& exchange) {
  const OperationId id(exchange.parameters().at("id"));
  const Operation* before = deps.supervisor.operations().find(id);
  if (before != nullptr && before->ended()) {
    co_await exchange.reply(json_response(200, operation_json(*before)));
    co_return;
  }
  const Result<Operation> cancelled = deps.supervisor.cancel(id, asked_by(exchange));
  if (!cancelled) {
    co_await exchange.reply(problem_response(cancelled.error()));
    co_return;
  }
  Response response = json_response(202, operation_json(*cancelled));
  response.headers.emplace_back("Location", "/api/v1/operations/" + id.value);
  co_await exchange.reply(std::move(response));
}

}  // namespace

std::vector<Route> operation_routes(ControlDependencies& deps) {
  return {
      {"GET", "/api/v1/operations", "list_operations", Scope::read,
       [&deps](Exchange& e) { return list_operations(deps, e); }},
      {"GET", "/api/v1/operations/{id}", "get_operation", Scope::read,
       [&deps](Exchange& e) { return get_operation(deps, e); }},
      {"DELETE", "/api/v1/operations/{id}", "cancel_operation", Scope::write,
       [&deps](Exchange& e) { return cancel_operation(deps, e); }},
  };
}

}  // namespace k3d::api
