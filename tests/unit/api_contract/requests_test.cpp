#include "api/contract/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

using testing::HasSubstr;

TEST(ActivateRequest, no_body_is_every_default) {
  for (const char* body : {"", " \r\n", "{}", R"({"reason":null})"}) {
    const Result<ActivateRequest> request = parse_activate_request(body);
    ASSERT_TRUE(request) << body;
    EXPECT_FALSE(request->force || request->accept_risk || request->restart || request->preempt || request->dry_run);
    EXPECT_EQ(request->reason, "");
  }
}

TEST(ActivateRequest, reads_each_field_into_its_own_place) {
  const std::vector<std::pair<std::string, bool ActivateRequest::*>> fields{
      {"force", &ActivateRequest::force},
      {"accept_risk", &ActivateRequest::accept_risk},
      {"restart", &ActivateRequest::restart},
      {"preempt", &ActivateRequest::preempt},
      {"dry_run", &ActivateRequest::dry_run}};
  for (const auto& [name, member] : fields) {
    const Result<ActivateRequest> request = parse_activate_request("{\"" + name + "\":true}");
    ASSERT_TRUE(request) << name;
    for (const auto& [other, place] : fields) EXPECT_EQ((*request).*place, other == name) << name << " " << other;
  }
}

TEST(ActivateRequest, unknown_fields_are_named_with_what_is_allowed) {
  const Result<ActivateRequest> request = parse_activate_request(R"({"forse":true})");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, Code::invalid_request);
  EXPECT_THAT(request.error().message, HasSubstr("\"forse\""));
  EXPECT_EQ(request.error().hint, "allowed are accept_risk, dry_run, force, preempt, restart, reason");
}

TEST(ActivateRequest, wrong_types_are_named_with_what_is_allowed) {
  for (const char* body : {R"({"force":1})", R"({"force":"true"})", R"({"force":null})"}) {
    const Result<ActivateRequest> request = parse_activate_request(body);
    ASSERT_FALSE(request) << body;
    EXPECT_THAT(request.error().message, HasSubstr("\"force\""));
    EXPECT_EQ(request.error().hint, "write true or false");
  }
  EXPECT_FALSE(parse_activate_request(R"({"reason":5})"));
  EXPECT_FALSE(parse_activate_request(R"({"reason":")" + std::string(501, 'x') + "\"}"));
}

TEST(ActivateRequest, what_is_no_object_is_refused) {
  for (const char* body : {"[]", "null", "true", "{\"force\":tru", "force=1", "\xff"}) {
    const Result<ActivateRequest> request = parse_activate_request(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, Code::invalid_request) << body;
  }
}

TEST(ActivateRequest, what_the_client_writes_is_what_the_server_reads) {
  ActivateRequest request;
  request.restart = true;
  request.reason = "a \"reason\"";
  const Result<ActivateRequest> back = parse_activate_request(activate_request_json(request));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->restart);
  EXPECT_FALSE(back->force);
  EXPECT_EQ(back->reason, request.reason);
}

TEST(DeactivateRequest, takes_force_and_reason_alone) {
  const Result<DeactivateRequest> request = parse_deactivate_request(R"({"force":true,"reason":"done"})");
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->force);
  EXPECT_EQ(request->reason, "done");
  const Result<DeactivateRequest> wrong = parse_deactivate_request(R"({"restart":true})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().hint, "allowed are force, reason");
  EXPECT_TRUE(parse_deactivate_request(deactivate_request_json({true, "x"})));
}

TEST(OverridesRequest, numbers_and_texts_are_read_as_yaml_would_have_them) {
  const Result<OverridesRequest> request = parse_overrides_request(
      R"({"set":{"ubatch":2048,"cache_type":"q8_0","cache_ram":"8GiB","fit_target_mib":"[1, 2]"},"reason":"oom"})");
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(
      request->set,
      (Overrides{{"ubatch", "2048"}, {"cache_type", "q8_0"}, {"cache_ram", "8GiB"}, {"fit_target_mib", "[1, 2]"}}));
  EXPECT_EQ(request->reason, "oom");
}

TEST(OverridesRequest, other_shapes_are_refused_with_what_is_allowed) {
  const auto refused = [](const std::string& body) {
    const Result<OverridesRequest> request = parse_overrides_request(body);
    if (request) return std::string("taken");
    EXPECT_EQ(request.error().code, Code::invalid_request) << body;
    return request.error().text();
  };
  for (const char* value : {"1.5", "true", "null", "[1]", "{}"}) {
    EXPECT_EQ(refused(R"({"set":{"ubatch":)" + std::string(value) + "}}"),
              "\"set.ubatch\" is neither a whole number nor a text (write a whole number, or a text as in the "
              "configuration)");
  }
  EXPECT_THAT(refused("{}"), HasSubstr("\"set\" is missing (allowed are set, reason)"));
  EXPECT_THAT(refused(R"({"set":{}})"), HasSubstr("DELETE removes the overrides"));
  EXPECT_THAT(refused(R"({"set":[]})"), HasSubstr("\"set\" is not an object"));
  EXPECT_THAT(refused(R"({"ubatch":2048})"), HasSubstr("there is no field \"ubatch\" in this request"));
  EXPECT_THAT(refused(R"({"set":{"ubatch":1},"reason":7})"), HasSubstr("\"reason\" is not a text"));
  for (const char* body : {"", " ", "[]", "null", "{", "\xff"}) refused(body);
  EXPECT_THAT(refused(std::string(100'000, '[')), HasSubstr("nested deeper"));
}

TEST(OverridesRequest, what_the_client_writes_is_what_the_server_reads) {
  const Overrides set{{"context", "0"}, {"ubatch", "2048"}, {"threads", "008"}, {"slots", std::string(20, '9')}};
  const std::string json = overrides_request_json({set, "why"});
  EXPECT_THAT(json, HasSubstr(R"("ubatch":2048)"));
  EXPECT_THAT(json, HasSubstr(R"("threads":"008")"));
  const Result<OverridesRequest> back = parse_overrides_request(json);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->set, set);
  EXPECT_EQ(back->reason, "why");
  EXPECT_EQ(schema_faults("OverridesRequest", json), "");
}

TEST(ReasonRequest, is_a_reason_or_nothing) {
  for (const char* body : {"", "{}", R"({"reason":null})"}) EXPECT_EQ(parse_reason_request(body), "") << body;
  EXPECT_EQ(parse_reason_request(reason_request_json("a \"reason\"")), "a \"reason\"");
  EXPECT_EQ(parse_reason_request(R"({"force":true})").error().hint, "allowed is reason");
  EXPECT_FALSE(parse_reason_request("[]"));
  EXPECT_EQ(schema_faults("ReasonRequest", reason_request_json("")), "");
}

}  // namespace
}  // namespace k3d::api
