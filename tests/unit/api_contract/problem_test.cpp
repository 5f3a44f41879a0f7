#include "api/contract/problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

TEST(ProblemJson, is_an_rfc9457_problem_with_advice) {
  const std::string json =
      problem_json({Code::docker_refused, "can't create the container", "look at the image", "no such image"});
  EXPECT_EQ(json,
            R"({"type":"urn:k3d:problem:docker_refused","code":"docker_refused","title":"Docker refused","status":502,)"
            R"("detail":"can't create the container: no such image","advice":"look at the image","breaks":[]})");
  EXPECT_EQ(schema_faults("Problem", json), "");
}

TEST(ProblemJson, says_what_there_is_too_little_of) {
  Error error{Code::does_not_fit, "it does not fit", "use less", ""};
  error.breaks = {{"vram", 3, 100, 96}, {"quant", std::nullopt}};
  const std::string json = problem_json(error);
  EXPECT_THAT(json, testing::HasSubstr(R"("status":422)"));
  EXPECT_THAT(json, testing::HasSubstr(R"("breaks":[{"resource":"vram","device":3,"need_bytes":100,"have_bytes":96},)"
                                       R"({"resource":"quant","device":null,"need_bytes":null,"have_bytes":null}])"));
  EXPECT_EQ(schema_faults("Problem", json), "");
}

TEST(ProblemJson, comes_back_as_an_error) {
  const Error error =
      error_from_problem(404, problem_json({Code::unknown_profile, "no profile \"x\"", "try batch", ""}));
  EXPECT_EQ(error.code, Code::unknown_profile);
  EXPECT_EQ(error.message, "no profile \"x\"");
  EXPECT_EQ(error.hint, "try batch");
}

TEST(ProblemJson, an_answer_of_someone_else_is_quoted) {
  const Error error = error_from_problem(502, "<html>Bad Gateway</html>");
  EXPECT_EQ(error.code, Code::protocol);
  EXPECT_THAT(error.message, testing::HasSubstr("502"));
  EXPECT_THAT(error.cause, testing::HasSubstr("Bad Gateway"));
}

TEST(ProblemJson, a_code_of_a_newer_daemon_keeps_its_words) {
  const Error error =
      error_from_problem(409, R"({"code":"moon_phase","title":"Full moon","detail":null,"advice":null})");
  EXPECT_EQ(error.code, Code::internal);
  EXPECT_EQ(error.message, "Full moon");
}

}  // namespace
}  // namespace k3d::api
