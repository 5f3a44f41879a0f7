#include "api/http/router.hpp"

#include <algorithm>
#include <optional>

namespace k3d::api {
namespace {

std::string_view next_segment(std::string_view& rest) {
  rest.remove_prefix(1);  // the slash
  const std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(segment.size());
  return segment;
}

/// What the braces of `pattern` caught, or nothing if the path is another one.
std::optional<std::map<std::string, std::string>> capture(std::string_view pattern, std::string_view path) {
  std::map<std::string, std::string> caught;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = next_segment(pattern);
    const std::string_view given = next_segment(path);
    if (wanted.starts_with('{') && !given.empty()) {
      caught.emplace(wanted.substr(1, wanted.size() - 2), given);
    } else if (wanted != given) {
      return std::nullopt;
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return caught;
}

}  // namespace

Result<Match> Router::match(std::string_view method, std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::string allowed;
  for (const Route& route : routes_) {
    auto caught = capture(route.pattern, path);
    if (!caught) continue;
    if (route.method == wanted) return Match{&route, std::move(*caught)};
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  if (!allowed.empty()) {
    return fail(Code::method_not_allowed, std::string(path) + " does not take " + std::string(method), allowed);
  }
  return fail(Code::not_found, "there is no " + std::string(path), "GET /openapi.json lists what there is");
}

}  // namespace k3d::api
