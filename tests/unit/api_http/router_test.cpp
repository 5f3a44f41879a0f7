#include "api/http/router.hpp"

#include <gtest/gtest.h>

namespace k3d::api {
namespace {

Task<void> nothing(Exchange&) {
  co_return;
}

Router router() {
  return Router({{"GET", "/api/v1/profiles", "list", Scope::read, nothing},
                 {"GET", "/api/v1/profiles/{name}", "get", Scope::read, nothing},
                 {"POST", "/api/v1/profiles/{name}/activate", "activate", Scope::write, nothing},
                 {"DELETE", "/api/v1/profiles/{name}", "remove", Scope::write, nothing},
                 {"GET", "/", "root", Scope::open, nothing}});
}

TEST(Router, captures_segments) {
  const Router table = router();
  const auto match = table.match("POST", "/api/v1/profiles/my batch/activate");
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->route->operation_id, "activate");
  EXPECT_EQ(match->parameters.at("name"), "my batch");
  EXPECT_EQ(table.match("GET", "/")->route->operation_id, "root");
  EXPECT_EQ(table.match("HEAD", "/api/v1/profiles")->route->operation_id, "list");
}

TEST(Router, tells_not_found_from_not_allowed) {
  const Router table = router();
  for (const char* path :
       {"/api/v1", "/api/v1/profiles/", "/api/v1/profiles/a/b", "/api/v1/profiles/a/activate/", "/x"}) {
    EXPECT_EQ(table.match("GET", path).error().code, Code::not_found) << path;
  }
  const auto match = table.match("PUT", "/api/v1/profiles/a");
  ASSERT_FALSE(match.has_value());
  EXPECT_EQ(match.error().code, Code::method_not_allowed);
  EXPECT_EQ(match.error().hint, "GET, DELETE");
}

}  // namespace
}  // namespace k3d::api
