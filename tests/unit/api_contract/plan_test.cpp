#include "api/contract/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/contract/quants.hpp"
#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

using testing::HasSubstr;

PlanAnswer full_answer() {
  PlanAnswer answer;
  Plan& plan = answer.plan;
  plan.verdict = Verdict::hybrid;
  plan.reasons = {"because"};
  plan.warnings = {"slow"};
  plan.breaks = {{PlanBreak::Resource::vram, 1, 20, 10}, {PlanBreak::Resource::quant, std::nullopt, 0, 0}};
  plan.devices = {{0, 12, 1, 2, 3, 4, 20, 10}, {1, 1.5, 5, 6, 7, 8, 9, -17}};
  plan.host = {1, 2, 3, 4, 100, 90};
  plan.placement = {PlacementMode::n_cpu_moe, 9, {60, 34.5}, {4096}, {"a=CPU"}, 9};
  plan.capacity = {{8192, "f16", 12}, {32768, "q8_0", 3}};
  plan.batch = 4096;
  plan.ubatch = 2048;
  plan.shards = 19;
  plan.total_bytes = 861'277'858'912;
  plan.load_seconds = 12.5;
  plan.basis = PlanBasis::measured;
  answer.present_bytes = 7;
  answer.argv = {"--model", "m"};
  answer.proof = Proof::elsewhere;
  return answer;
}

TEST(PlanJson, is_what_the_description_says_and_reads_back) {
  for (const PlanAnswer& answer : {full_answer(), PlanAnswer()}) {
    const std::string json = plan_json(answer);
    EXPECT_EQ(schema_faults("Plan", json), "");
    const Result<PlanAnswer> read = plan_from_json(json);
    ASSERT_TRUE(read) << json;
    EXPECT_EQ(plan_json(*read), json);
  }
}

TEST(PlanJson, whole_numbers_stay_whole_and_what_is_unknown_is_null) {
  const Json plan = plan_object(full_answer());
  EXPECT_EQ(plan["devices"][0]["layers"].dump(), "12");
  EXPECT_EQ(plan["devices"][1]["left_bytes"], -17);
  EXPECT_EQ(plan["placement"]["tensor_split"].dump(), "[60,34.5]");
  EXPECT_TRUE(plan["breaks"][1]["need_bytes"].is_null());
  const Json empty = plan_object(PlanAnswer());
  for (const char* key : {"load_seconds", "proven", "batch"}) EXPECT_TRUE(empty[key].is_null()) << key;
  EXPECT_TRUE(empty["host"]["ram_bytes"].is_null());
}

TEST(PlanJson, another_answer_is_no_plan) {
  for (const char* text : {"", "[]", "{}", R"({"verdict":"perhaps"})"}) EXPECT_FALSE(plan_from_json(text)) << text;
}

TEST(PlanRequest, takes_everything_and_writes_it_again) {
  const std::string body =
      R"({"profile":"batch","model":"kimi-k3","quant":"UD-Q2_K_XL","gpus":[{"index":3},{"free_bytes":"96GiB"},)"
      R"({"free_bytes":5,"total_bytes":9}],"ram_bytes":"1TiB","placement":{"mode":"n_cpu_moe","layers":9,"tensor_split":[60,34]},)"
      R"("tensor_split":[1,2],"context":8192,"slots":4,"batch":"auto","ubatch":512,"cache_type":"q8_0",)"
      R"("fit_target_mib":[4096,2048],"draft":"dspark-k3","exact":true})";
  EXPECT_EQ(schema_faults("PlanRequest", body), "");
  const Result<PlanQuestion> question = parse_plan_request(body);
  ASSERT_TRUE(question) << question.error().text();
  EXPECT_EQ(question->gpus->at(1).free_bytes, 96 * kGiB);
  EXPECT_EQ(question->gpus->at(2).total_bytes, 9u);
  EXPECT_EQ(question->ram_bytes, 1024 * kGiB);
  EXPECT_EQ(question->placement->n_cpu_moe, 9);
  EXPECT_EQ(question->placement->tensor_split, (std::vector<double>{60, 34}));
  EXPECT_EQ(question->set, (Overrides{{"batch", "auto"}, {"cache_type", "q8_0"}, {"context", "8192"},
                                      {"fit_target_mib", "[4096,2048]"}, {"slots", "4"}, {"ubatch", "512"}}));
  const std::string written = plan_request_json(*question);
  EXPECT_EQ(schema_faults("PlanRequest", written), "");
  EXPECT_EQ(plan_request_json(*parse_plan_request(written)), written);
}

TEST(PlanRequest, null_is_not_asked_and_false_is_no_draft) {
  const auto question = parse_plan_request(R"({"profile":"a","gpus":null,"draft":null,"placement":null,"exact":null})");
  ASSERT_TRUE(question);
  EXPECT_FALSE(question->gpus || question->draft || question->placement || question->exact);
  EXPECT_EQ(parse_plan_request(R"({"draft":false})")->draft, "");
  EXPECT_EQ(parse_plan_request(R"({"placement":"n_cpu_moe"})")->placement->mode, PlacementMode::n_cpu_moe);
  EXPECT_TRUE(parse_plan_request(R"({"gpus":[]})")->gpus->empty());
}

TEST(PlanRequest, mistakes_are_refused_with_the_field) {
  for (const auto& [body, field] : std::vector<std::pair<std::string, std::string>>{
           {"", "body"},
           {"[]", "body"},
           {R"({"profil":"a"})", "profil"},
           {R"({"profile":1})", "profile"},
           {R"({"path":"/a\u0000b"})", "path"},
           {R"({"gpus":{}})", "gpus"},
           {R"({"gpus":[{}]})", "gpus"},
           {R"({"gpus":[{"index":-1}]})", "gpus.index"},
           {R"({"gpus":[{"index":1,"free_bytes":2}]})", "gpus"},
           {R"({"gpus":[{"free_bytes":-2}]})", "gpus.free_bytes"},
           {R"({"gpus":[{"free":2}]})", "gpus.free"},
           {R"({"ram_bytes":"much"})", "ram_bytes"},
           {R"({"ram_bytes":18446744073709551615})", "ram_bytes"},
           {R"({"context":1.5})", "context"},
           {R"({"slots":[1]})", "slots"},
           {R"({"tensor_split":[]})", "tensor_split"},
           {R"({"tensor_split":[0,0]})", "tensor_split"},
           {R"({"tensor_split":[1,-1]})", "tensor_split"},
           {R"({"placement":"pinned"})", "placement.mode"},
           {R"({"placement":{"layers":3}})", "placement.mode"},
           {R"({"placement":{"mode":"fit","layers":3}})", "placement.layers"},
           {R"({"placement":{"mode":"n_cpu_moe","layers":-1}})", "placement.layers"},
           {R"({"placement":{"mode":"override","tensors":["no rule"]}})", "placement.tensors"},
           {R"({"draft":true})", "draft"},
           {R"({"draft":""})", "draft"},
           {R"({"exact":1})", "exact"}}) {
    const auto question = parse_plan_request(body);
    ASSERT_FALSE(question) << body;
    EXPECT_EQ(question.error().code, Code::invalid_request);
    EXPECT_THAT(question.error().message, HasSubstr(field)) << body;
    EXPECT_NE(question.error().hint, "") << body;
  }
  EXPECT_FALSE(parse_plan_request(R"({"gpus":[)" + std::string("{\"index\":1},", 12) + "]}"));
}

TEST(QuantsJson, is_what_the_description_says) {
  QuantView known{"kimi-k3", "UD-TQ2_0", 5, 0, Verdict::blocked, {"corrupt"}, Proof::blocked};
  const std::string json = quants_json({known, QuantView{"demo", "", {}, {}, {}, {}, {}}});
  EXPECT_EQ(schema_faults("QuantList", json), "");
  const Json items = Json::parse(json)["items"];
  EXPECT_EQ(items[0]["verdict"], "blocked");
  EXPECT_EQ(items[0]["proven"], "blocked");
  for (const char* key : {"quant", "total_bytes", "present_bytes", "verdict", "proven", "gate"}) {
    EXPECT_TRUE(items[1][key].is_null()) << key;
  }
}

}  // namespace
}  // namespace k3d::api
