// The routes and api/openapi.yaml describe the same API.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <set>

#include "api/contract/openapi.hpp"
#include "api/control/control.hpp"
#include "daemon/base/json.hpp"
#include "docker_driver/docker.hpp"

namespace k3d::api {
namespace {

std::set<std::string> described() {
  std::set<std::string> out;
  const Json document = parse_json(openapi_json()).value();
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      if (!operation.is_object()) continue;  // "parameters" of the path
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      const bool open = operation.contains("security") && operation["security"].empty();
      out.insert(upper + " " + path + " " + operation["operationId"].get<std::string>() + (open ? " open" : ""));
    }
  }
  return out;
}

TEST(Routes, are_those_of_the_description_and_no_others) {
  // The handlers are never called: storage of the right size stands for what is behind the references.
  alignas(lifecycle::Supervisor) static unsigned char supervisor[sizeof(lifecycle::Supervisor)];
  asio::io_context loop(1);
  const auto containers = docker::connect(loop.get_executor(), DockerSettings{});
  ControlDependencies deps{*reinterpret_cast<lifecycle::Supervisor*>(supervisor), *containers, {}, {}};
  std::set<std::string> served;
  for (const Route& route : control_routes(deps)) {
    served.insert(std::string(route.method) + " " + std::string(route.pattern) + " " + std::string(route.operation_id) +
                  (route.scope == Scope::open ? " open" : ""));
    EXPECT_EQ(route.scope == Scope::write, route.method != "GET") << route.pattern;
  }
  EXPECT_EQ(served, described());
}

}  // namespace
}  // namespace k3d::api
