#include "daemon/lifecycle/failure_record.hpp"

#include "daemon/base/json.hpp"

namespace k3d::lifecycle {

std::string to_text(const FailureRecord& record) {
  const Failure& failure = record.failure;
  Json out{{"final", record.final},       {"code", failure.code},           {"title", failure.title},
           {"detail", failure.detail},    {"advice", failure.advice},       {"profile", failure.profile},
           {"operation", failure.operation_id}, {"attempt", failure.attempt}, {"retryable", failure.retryable},
           {"log", failure.log_excerpt},  {"at", format_time(failure.at)}};
  if (failure.exit_code) out["exit_code"] = *failure.exit_code;
  if (failure.remedy) out["remedy"] = {{"text", failure.remedy->text}, {"set", failure.remedy->set}};
  return dump_json(out);
}

namespace {

std::optional<Remedy> remedy_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Remedy remedy{json_text(json, "text"), {}};
  for (const auto& [key, value] : json_member(json, "set").items()) {
    if (value.is_string()) remedy.set[key] = value.get<std::string>();
  }
  return remedy;
}

}  // namespace

std::optional<FailureRecord> failure_record(const std::string& text) {
  const Result<Json> json = parse_json(text);
  if (!json || !json->is_object()) return std::nullopt;
  FailureRecord record;
  record.final = json_member(*json, "final") == Json(true);
  Failure& failure = record.failure;
  failure.code = json_text(*json, "code");
  failure.title = json_text(*json, "title");
  failure.detail = json_text(*json, "detail");
  failure.advice = json_text(*json, "advice");
  failure.profile = json_text(*json, "profile");
  failure.operation_id = json_text(*json, "operation");
  failure.attempt = static_cast<std::uint64_t>(json_int(*json, "attempt").value_or(0));
  failure.retryable = json_member(*json, "retryable") == Json(true);
  failure.at = parse_time(json_text(*json, "at")).value_or(WallTime{});
  failure.remedy = remedy_of(json_member(*json, "remedy"));
  if (const auto code = json_int(*json, "exit_code")) failure.exit_code = static_cast<int>(*code);
  for (const Json& line : json_member(*json, "log")) {
    if (line.is_string()) failure.log_excerpt.push_back(line.get<std::string>());
  }
  if (failure.code.empty() || failure.profile.empty()) return std::nullopt;
  return record;
}

}  // namespace k3d::lifecycle
