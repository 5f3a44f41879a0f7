#include "api/control/control.hpp"

#include <charconv>

namespace k3d::api {

std::vector<Route> control_routes(ControlDependencies& deps) {
  std::vector<Route> routes;
  for (auto* part : {&status_routes, &event_routes, &profile_routes, &override_routes, &operation_routes, &log_routes,
                     &audit_routes, &host_routes, &plan_routes, &quant_routes, &reload_routes}) {
    std::vector<Route> more = part(deps);
    routes.insert(routes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return routes;
}

std::string asked_by(const Exchange& exchange) {
  const Peer& peer = exchange.peer();
  if (peer.uid) return "uid " + std::to_string(*peer.uid);
  return "token from " + peer.address;
}

Result<std::int64_t> query_number(const Exchange& exchange, std::string_view name, std::int64_t fallback,
                                  std::int64_t least, std::int64_t most) {
  const auto text = query_value(exchange.head().query, name);
  if (!text) return fallback;
  std::int64_t number = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (ec != std::errc() || end != text->data() + text->size() || number < least || number > most) {
    return fail(Code::invalid_request, "\"" + std::string(name) + "\" must be a whole number from " +
                                           std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

Response json_response(unsigned status, std::string body) {
  Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

}  // namespace k3d::api
