#include "api/contract/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

TEST(DryRunJson, is_as_described_and_tells_no_key) {
  Launch launch;
  launch.profile = "batch";
  launch.address.api_key = "s3cret-s3cret";
  launch.argv = {"--model", "/m.gguf"};
  launch.weight_bytes = 7;
  const std::string unplanned = dry_run_json(launch, {"docker", "run", "engine:1"}, 3);
  EXPECT_EQ(schema_faults("DryRun", unplanned), "");
  EXPECT_TRUE(Json::parse(unplanned)["plan"].is_null());
  EXPECT_TRUE(Json::parse(unplanned)["load_seconds"].is_null());
  Plan plan;
  plan.verdict = Verdict::all_vram;
  plan.load_seconds = 600;
  launch.plan = std::make_shared<const Plan>(plan);
  const std::string json = dry_run_json(launch, {"docker", "run", "engine:1"}, 3);
  EXPECT_EQ(schema_faults("DryRun", json), "");
  EXPECT_EQ(Json::parse(json)["plan"]["verdict"], "all_vram");
  EXPECT_EQ(Json::parse(json)["plan"]["argv"], Json::parse(json)["launch"]["argv"]);
  EXPECT_EQ(Json::parse(json)["load_seconds"], 600.0);
  EXPECT_THAT(json, testing::Not(testing::HasSubstr("s3cret")));
  EXPECT_EQ(Json::parse(json)["streams_to_drain"], 3);
}

}  // namespace
}  // namespace k3d::api
