#include "api/contract/status.hpp"

#include <gtest/gtest.h>

#include "api/contract/openapi.hpp"
#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/samples.hpp"
#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

TEST(StatusJson, has_every_field_when_everything_is_known) {
  const std::string json = status_json(samples::snapshot());
  samples::expect_golden("status_full", json);
  EXPECT_EQ(schema_faults("Status", json), "");
}

TEST(StatusJson, has_nulls_for_what_has_no_value) {
  Snapshot snapshot;
  snapshot.revision = "b00t-0";
  snapshot.version = "0.1.0";
  snapshot.instance = "default";
  const std::string json = status_json(snapshot);
  samples::expect_golden("status_stopped", json);
  EXPECT_EQ(schema_faults("Status", json), "");
}

TEST(StatusJson, shows_the_plan_of_an_engine_beside_what_it_measured) {
  Snapshot snapshot;
  snapshot.engine.emplace();
  Plan plan;
  plan.placement.cpu_expert_layers = 5;
  plan.devices.resize(1);
  plan.devices[0].model_bytes = 70;
  snapshot.engine->planned = std::make_shared<const Plan>(plan);
  snapshot.engine->measured = MeasuredMemory{{{71, 2, 3}}, {4, 5, 6}};
  const std::string json = status_json(snapshot);
  EXPECT_EQ(schema_faults("Status", json), "");
  const Json engine = Json::parse(json)["engine"];
  EXPECT_EQ(engine["planned"]["cpu_expert_layers"], 5);
  EXPECT_EQ(engine["planned"]["devices"][0]["model_bytes"], 70);
  EXPECT_EQ(engine["measured"]["devices"][0]["model_bytes"], 71);
  EXPECT_EQ(engine["measured"]["host"]["compute_bytes"], 6);
}

TEST(StatusJson, names_all_running_operations_and_only_the_newest_ended_ones) {
  Snapshot snapshot;
  for (int i = 0; i < 40; ++i) {
    Operation operation = samples::operation();
    operation.id = OperationId("op-" + std::to_string(i));
    operation.state = i == 39 ? OperationState::running : OperationState::succeeded;
    snapshot.operations.push_back(operation);
  }
  const Json operations = Json::parse(status_json(snapshot))["operations"];
  ASSERT_EQ(operations.size(), 11u);
  EXPECT_EQ(operations.front()["id"], "op-0");
  EXPECT_EQ(operations.back()["id"], "op-39");
}

TEST(StatusJson, a_remedy_has_numbers_where_it_has_only_digits) {
  Snapshot snapshot;
  snapshot.last_failure = samples::failure();
  snapshot.last_failure->remedy =
      Remedy{"less", {{"ubatch", "2048"}, {"cache_ram", "8GiB"}, {"fit_target_mib", "[1, 2]"}, {"context", "0"}}};
  const std::string json = status_json(snapshot);
  EXPECT_EQ(Json::parse(json)["last_failure"]["remedy"].dump(),
            R"({"text":"less","set":{"cache_ram":"8GiB","context":0,"fit_target_mib":"[1, 2]","ubatch":2048}})");
  EXPECT_EQ(schema_faults("Status", json), "");
}

TEST(StatusJson, F49_bytes_that_are_not_utf8_are_replaced) {
  Snapshot snapshot = samples::snapshot();
  snapshot.last_failure->log_excerpt = {std::string("a\xff\0b", 4)};
  const Json status = Json::parse(status_json(snapshot));
  EXPECT_EQ(status["last_failure"]["log_excerpt"][0], std::string("a\xef\xbf\xbd\0b", 6));
}

TEST(LogEventJson, is_as_described) {
  const std::string json = log_event_json(3, "load_tensors: \"x\"");
  EXPECT_EQ(json, R"({"attempt":3,"line":"load_tensors: \"x\""})");
  EXPECT_EQ(schema_faults("LogLine", json), "");
}

TEST(OpenApi, has_an_operation_id_for_every_call_and_describes_problems) {
  const Json document = Json::parse(openapi_json());
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::size_t calls = 0;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, call] : methods.items()) {
      if (method == "parameters") continue;
      ++calls;
      EXPECT_TRUE(call.contains("operationId")) << method << " " << path;
    }
  }
  EXPECT_EQ(calls, 20u);
}

}  // namespace
}  // namespace k3d::api
