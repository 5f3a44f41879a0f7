#include "api/contract/operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/samples.hpp"
#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

TEST(OperationJson, has_every_field) {
  const std::string json = operation_json(samples::operation());
  samples::expect_golden("operation_full", json);
  EXPECT_EQ(schema_faults("Operation", json), "");
}

TEST(OperationJson, has_nulls_for_what_has_no_value) {
  Operation operation;
  operation.id = OperationId("op-1");
  const std::string json = operation_json(operation);
  samples::expect_golden("operation_new", json);
  EXPECT_EQ(schema_faults("Operation", json), "");
}

TEST(OperationJson, comes_back_as_it_was) {
  Operation bare;
  bare.id = OperationId("op-1");
  bare.kind = OperationKind::deactivate;
  for (const Operation& operation : {samples::operation(), bare}) {
    const std::string json = operation_json(operation);
    const Result<Operation> back = operation_from_json(json);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(operation_json(*back), json);
  }
}

TEST(OperationJson, keeps_times_to_the_millisecond) {
  const Result<Operation> back = operation_from_json(operation_json(samples::operation()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->created_at, samples::at());
  EXPECT_EQ(back->steps.at(1).finished_at, samples::at(4));
}

TEST(OperationJson, decoding_names_the_field_that_is_wrong) {
  const std::string good = operation_json(samples::operation());
  const auto with = [&good](const std::string& field, const Json& value) {
    Json object = Json::parse(good);
    object[field] = value;
    const Result<Operation> back = operation_from_object(object);
    return back ? std::string("accepted") : back.error().message;
  };
  EXPECT_THAT(with("id", nullptr), testing::HasSubstr("id"));
  EXPECT_THAT(with("kind", "dance"), testing::HasSubstr("kind"));
  EXPECT_THAT(with("state", 7), testing::HasSubstr("state"));
  EXPECT_THAT(with("created_at", "yesterday"), testing::HasSubstr("created_at"));
  EXPECT_THAT(with("finished_at", 5), testing::HasSubstr("finished_at"));
  EXPECT_THAT(with("steps", Json::array({Json::object({{"name", "x"}})})), testing::HasSubstr("state"));
}

TEST(OperationJson, decoding_survives_anything_and_ignores_what_is_newer) {
  for (const char* text : {"", "[]", "null", "{", "7", "{\"id\":{}}"}) EXPECT_FALSE(operation_from_json(text)) << text;
  Json object = Json::parse(operation_json(samples::operation()));
  object["colour"] = "green";
  EXPECT_TRUE(operation_from_object(object));
}

TEST(ListJson, has_items_and_next) {
  const Json items = Json::array({1, 2});
  EXPECT_EQ(list_json(items, std::nullopt), R"({"items":[1,2],"next":null})");
  EXPECT_EQ(list_json(items, "op-3"), R"({"items":[1,2],"next":"op-3"})");
}

}  // namespace
}  // namespace k3d::api
