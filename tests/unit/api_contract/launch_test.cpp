#include "api/contract/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

LaunchSpec spec() {
  LaunchSpec spec;
  spec.name = "k3d-default-3";
  spec.image = "engine:1";
  spec.entrypoint = {"/llama-server", "--verbose"};
  spec.args = {"--model", "/m.gguf"};
  spec.env = {{"A", "1 2"}};
  spec.labels = {{"k3d.instance", "default"}};
  spec.mounts = {{"/data/a,b", "/models", true}, {"/run/x", "/run/x", false}};
  spec.cdi_devices = {"nvidia.com/gpu=GPU-1"};
  spec.user = "997:997";
  spec.groups = {"44"};
  return spec;
}

TEST(DockerRun, says_everything_that_the_container_is_created_from) {
  const std::vector<std::string> expected{"docker",
                                          "run",
                                          "--detach",
                                          "--init",
                                          "--read-only",
                                          "--name",
                                          "k3d-default-3",
                                          "--restart",
                                          "no",
                                          "--cap-drop",
                                          "ALL",
                                          "--security-opt",
                                          "no-new-privileges",
                                          "--network",
                                          "host",
                                          "--ipc",
                                          "host",
                                          "--ulimit",
                                          "memlock=-1:-1",
                                          "--user",
                                          "997:997",
                                          "--group-add",
                                          "44",
                                          "--device",
                                          "nvidia.com/gpu=GPU-1",
                                          "--mount",
                                          "type=bind,\"source=/data/a,b\",target=/models,readonly",
                                          "--mount",
                                          "type=bind,source=/run/x,target=/run/x",
                                          "--env",
                                          "A=1 2",
                                          "--label",
                                          "k3d.instance=default",
                                          "--entrypoint",
                                          "/llama-server",
                                          "engine:1",
                                          "--verbose",
                                          "--model",
                                          "/m.gguf"};
  EXPECT_EQ(docker_run(spec()), expected);
}

TEST(DockerRun, follows_the_switches) {
  LaunchSpec plain = spec();
  plain.host_network = false;
  plain.host_ipc = false;
  plain.memlock_unlimited = false;
  const std::vector<std::string> line = docker_run(plain);
  EXPECT_THAT(line, testing::Contains("none"));
  EXPECT_THAT(line, testing::Not(testing::Contains("--ipc")));
  EXPECT_THAT(line, testing::Not(testing::Contains("--ulimit")));
}

TEST(DryRunJson, is_as_described_and_tells_no_key) {
  Launch launch;
  launch.profile = "batch";
  launch.container = spec();
  launch.address.api_key = "s3cret-s3cret";
  launch.argv = {"--model", "/m.gguf"};
  launch.weight_bytes = 7;
  const std::string json = dry_run_json(launch, 600.0, 3);
  EXPECT_EQ(schema_faults("DryRun", json), "");
  EXPECT_THAT(json, testing::Not(testing::HasSubstr("s3cret")));
  EXPECT_EQ(Json::parse(json)["streams_to_drain"], 3);
}

}  // namespace
}  // namespace k3d::api
