#include "api/contract/problem.hpp"

#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

constexpr std::size_t kQuotedBody = 200;

Json break_object(const Shortage& broken) {
  const bool counted = broken.need_bytes != 0 || broken.have_bytes != 0;
  Json out = Json::object();
  out["resource"] = broken.resource;
  out["device"] = number_or_null(broken.device);
  out["need_bytes"] = counted ? Json(broken.need_bytes) : Json(nullptr);
  out["have_bytes"] = counted ? Json(broken.have_bytes) : Json(nullptr);
  return out;
}

}  // namespace

Json problem_object(const Error& error) {
  Json out = Json::object();
  out["type"] = "urn:k3d:problem:" + std::string(to_string(error.code));
  out["code"] = to_string(error.code);
  out["title"] = title(error.code);
  out["status"] = http_status(error.code);
  out["detail"] = text_or_null(error.cause.empty() ? error.message : error.message + ": " + error.cause);
  out["advice"] = text_or_null(error.hint);
  out["breaks"] = Json::array();
  for (const Shortage& broken : error.breaks) out["breaks"].push_back(break_object(broken));
  return out;
}

std::string problem_json(const Error& error) {
  return dump_json(problem_object(error));
}

Error error_from_problem(unsigned status, std::string_view body) {
  Result<Json> problem = parse_json(body);
  const std::optional<std::string> code = problem ? json_string(*problem, "code") : std::nullopt;
  if (!code) {
    return Error{Code::protocol, "the answer was HTTP " + std::to_string(status) + " and no problem of k3d",
                 "check that the address is k3d's control address", std::string(body.substr(0, kQuotedBody))};
  }
  const std::string said = json_string(*problem, "title").value_or(*code);
  Error error;
  // A newer daemon may know codes that this program doesn't: its words are passed on all the same.
  error.code = parse_code(*code).value_or(Code::internal);
  error.message = json_string(*problem, "detail").value_or(said);
  error.hint = json_string(*problem, "advice").value_or("");
  return error;
}

}  // namespace k3d::api
