// The table of routes: which handler a method and a path go to, and who may.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/exchange.hpp"
#include "daemon/base/result.hpp"

namespace k3d::api {

enum class Scope { open, read, write };

struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/api/v1/profiles/{name}": a segment in braces is captured
  std::string_view operation_id;
  Scope scope = Scope::read;
  std::function<Task<void>(Exchange&)> handler;
};

struct Match {
  const Route* route = nullptr;
  std::map<std::string, std::string> parameters;
};

class Router {
 public:
  explicit Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

  /// Errors: not_found; method_not_allowed, whose hint lists the allowed ones ("GET, DELETE"). HEAD is served by GET.
  [[nodiscard]] Result<Match> match(std::string_view method, std::string_view path) const;
  [[nodiscard]] const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace k3d::api
