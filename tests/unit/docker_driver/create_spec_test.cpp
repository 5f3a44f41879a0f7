// The body of POST /containers/create, whole, against files that are read as code is. K3D_UPDATE_GOLDEN=1 rewrites.
#include "docker_driver/create_spec.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/base/json.hpp"
#include "tests/unit/docker_driver/samples.hpp"

namespace k3d::docker {
namespace {

std::string golden(const std::string& name, const std::string& made) {
  const std::filesystem::path path =
      std::filesystem::path(K3D_SOURCE_DIR) / "tests/unit/docker_driver/golden" / (name + ".json");
  if (std::getenv("K3D_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << made;
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string pretty(const std::string& json) {
  return Json::parse(json).dump(2) + "\n";
}

TEST(DockerCreateSpec, engine_with_gpus) {
  const std::string made = pretty(create_body(test::gpu_spec()));
  EXPECT_EQ(made, golden("create_gpus", made));
}

TEST(DockerCreateSpec, least_of_all) {
  const std::string made = pretty(create_body(test::bare_spec()));
  EXPECT_EQ(made, golden("create_bare", made));
}

TEST(DockerCreateSpec, memlock_is_left_out_when_it_was_refused) {
  LaunchSpec spec = test::gpu_spec();
  ASSERT_NE(create_body(spec).find("memlock"), std::string::npos);
  spec.memlock_unlimited = false;
  EXPECT_EQ(create_body(spec).find("memlock"), std::string::npos);
}

TEST(DockerCreateSpec, bytes_that_are_no_utf8_still_make_json) {
  LaunchSpec spec = test::bare_spec();
  spec.args = {"\xff\xfe"};
  EXPECT_TRUE(parse_json(create_body(spec)));
}

}  // namespace
}  // namespace k3d::docker
