// livez, readyz, openapi.json and GET status: whether k3d serves, whether the model does, and everything else.
#include "api/control/control.hpp"
#include "api/contract/openapi.hpp"
#include "api/http/problem.hpp"

namespace k3d::api {
namespace {

Response text_response(unsigned status, std::string body) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

Task<void> get_livez(Exchange& exchange) { co_await exchange.reply(text_response(200, "ok\n")); }

Task<void> get_readyz(ControlDependencies& deps, Exchange& exchange) {
  const SnapshotPtr snapshot = deps.supervisor.snapshot();
  if (snapshot->route) {
    co_await exchange.reply(text_response(200, "ok\n"));
    co_return;
  }
  const std::string phase(to_string(snapshot->phase));
  const Error error{snapshot->target_profile.empty() ? Code::no_active_profile
                    : snapshot->phase == Phase::failed ? Code::engine_failed
                                                       : Code::model_loading,
                    "the phase is " + phase + (snapshot->target_profile.empty() ? "" : " for " + snapshot->target_profile),
                    "k3ctl status tells more",
                    {}};
  co_await exchange.reply(problem_response(error));
}

Task<void> get_openapi(Exchange& exchange) {
  co_await exchange.reply(json_response(200, std::string(openapi_json())));
}

/// A revision of this boot that isn't older than ours and isn't ours is one to come: it is answered at once.
Task<void> get_status(ControlDependencies& deps, Exchange& exchange) {
  const auto wait = query_number(exchange, "wait", 0, 0, 60);
  if (!wait) {
    co_await exchange.reply(problem_response(wait.error()));
    co_return;
  }
  std::string since = query_value(exchange.head().query, "since").value_or("");
  if (since.empty()) {
    since = exchange.head().field("If-None-Match");
    if (since.size() >= 2 && since.front() == '"') since = since.substr(1, since.size() - 2);
  }
  SnapshotPtr snapshot = deps.supervisor.snapshot();
  if (*wait > 0) {
    snapshot = co_await deps.supervisor.changed(since, std::chrono::steady_clock::now() + seconds(*wait));
  }
  Response response = json_response(200, {});
  response.headers.emplace_back("ETag", "\"" + snapshot->revision + "\"");
  if (!since.empty() && snapshot->revision == since) {
    response.status = 304;
  } else {
    // The body is the snapshot's own: shared by everyone who asks, however many they are.
    response.shared_body = std::shared_ptr<const std::string>(snapshot, &snapshot->status_json);
  }
  co_await exchange.reply(std::move(response));
}

}  // namespace

std::vector<Route> status_routes(ControlDependencies& deps) {
  return {
      {"GET", "/livez", "livez", Scope::open, [](Exchange& e) { return get_livez(e); }},
      {"GET", "/readyz", "readyz", Scope::open, [&deps](Exchange& e) { return get_readyz(deps, e); }},
      {"GET", "/openapi.json", "openapi", Scope::read, [](Exchange& e) { return get_openapi(e); }},
      {"GET", "/api/v1/status", "get_status", Scope::read, [&deps](Exchange& e) { return get_status(deps, e); }},
  };
}

}  // namespace k3d::api
