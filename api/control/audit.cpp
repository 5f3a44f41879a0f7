// audit: who did what, when, why.
#include "api/contract/audit.hpp"

#include <limits>

#include "api/control/control.hpp"
#include "api/http/problem.hpp"

namespace k3d::api {
namespace {

Task<void> get_audit(ControlDependencies& deps, Exchange& exchange) {
  const auto limit = query_number(exchange, "limit", 100, 1, 1000);
  const auto after = query_number(exchange, "after", 0, 1, std::numeric_limits<std::int64_t>::max());
  if (!limit || !after) {
    co_await exchange.reply(problem_response(limit ? after.error() : limit.error()));
    co_return;
  }
  // One more than asked for tells whether there are more.
  auto entries = co_await deps.supervisor.audit(static_cast<int>(*limit) + 1, static_cast<std::uint64_t>(*after));
  if (!entries) {
    co_await exchange.reply(problem_response(entries.error()));
    co_return;
  }
  const bool more = entries->size() > static_cast<std::size_t>(*limit);
  if (more) entries->resize(static_cast<std::size_t>(*limit));
  co_await exchange.reply(json_response(200, audit_json(*entries, more)));
}

}  // namespace

std::vector<Route> audit_routes(ControlDependencies& deps) {
  return {
      {"GET", "/api/v1/audit", "get_audit", Scope::read, [&deps](Exchange& e) { return get_audit(deps, e); }},
  };
}

}  // namespace k3d::api
