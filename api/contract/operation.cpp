#include "api/contract/operation.hpp"

#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

Json progress_object(const Progress& progress) {
  Json out = Json::object();
  out["step"] = text_or_null(progress.step);
  out["fraction"] = number_or_null(progress.fraction);
  out["done_bytes"] = progress.done_bytes;
  out["total_bytes"] = progress.total_bytes;
  out["rate_bytes_per_second"] = number_or_null(progress.rate_bytes_per_second);
  out["eta_seconds"] = number_or_null(progress.eta_seconds);
  return out;
}

Json step_object(const OperationStep& step) {
  Json out = Json::object();
  out["name"] = step.name;
  out["state"] = to_string(step.state);
  out["started_at"] = time_or_null(step.started_at);
  out["finished_at"] = time_or_null(step.finished_at);
  return out;
}

Json error_object(const OperationError& error) {
  Json out = Json::object();
  out["code"] = error.code;
  out["title"] = text_or_null(error.title);
  out["detail"] = text_or_null(error.detail);
  out["advice"] = text_or_null(error.advice);
  return out;
}

Json result_object(const Operation& operation) {
  if (operation.rolled_back_to.empty()) return nullptr;
  Json out = Json::object();
  out["rolled_back_to"] = operation.rolled_back_to;
  return out;
}

std::unexpected<Error> bad(std::string_view field, std::string_view allowed) {
  return fail(Code::protocol, "an operation's " + std::string(field) + " must be " + std::string(allowed));
}

std::optional<double> number_of(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  if (!member.is_number()) return std::nullopt;
  return member.get<double>();
}

Bytes bytes_of(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  return member.is_number_unsigned() ? member.get<Bytes>() : 0;
}

/// A time, nothing for null, an error for anything else.
Result<std::optional<WallTime>> time_of(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  if (member.is_null()) return std::nullopt;
  if (!member.is_string()) return bad(key, "an RFC 3339 time or null");
  Result<WallTime> time = parse_time(member.get<std::string>());
  if (!time) return bad(key, "an RFC 3339 time or null");
  return *time;
}

Result<OperationState> state_of(const Json& object) {
  const std::optional<OperationState> state = parse_operation_state(json_text(object, "state"));
  if (!state) return bad("state", "queued, running, succeeded, failed or cancelled");
  return *state;
}

Progress progress_from(const Json& object) {
  Progress progress;
  progress.step = json_text(object, "step");
  progress.fraction = number_of(object, "fraction");
  progress.done_bytes = bytes_of(object, "done_bytes");
  progress.total_bytes = bytes_of(object, "total_bytes");
  progress.rate_bytes_per_second = number_of(object, "rate_bytes_per_second");
  progress.eta_seconds = number_of(object, "eta_seconds");
  return progress;
}

Result<std::vector<OperationStep>> steps_from(const Json& array) {
  std::vector<OperationStep> steps;
  if (!array.is_array()) return steps;
  for (const Json& object : array) {
    OperationStep step;
    step.name = json_text(object, "name");
    Result<OperationState> state = state_of(object);
    if (!state) return fail(state.error());
    step.state = *state;
    Result<std::optional<WallTime>> started = time_of(object, "started_at");
    if (!started) return fail(started.error());
    step.started_at = started->value_or(WallTime{});
    Result<std::optional<WallTime>> finished = time_of(object, "finished_at");
    if (!finished) return fail(finished.error());
    step.finished_at = *finished;
    steps.push_back(std::move(step));
  }
  return steps;
}

/// The fields that make an operation what it is; without one of them the text is none.
Result<Operation> identity_from(const Json& object) {
  if (!object.is_object()) return fail(Code::protocol, "an operation must be a JSON object");
  Operation operation;
  operation.id = OperationId(json_text(object, "id"));
  if (operation.id.empty()) return bad("id", "a text that is not empty");
  const std::optional<OperationKind> kind = parse_operation_kind(json_text(object, "kind"));
  if (!kind) return bad("kind", "one that this version of k3d knows");
  operation.kind = *kind;
  Result<OperationState> state = state_of(object);
  if (!state) return fail(state.error());
  operation.state = *state;
  Result<std::optional<WallTime>> created = time_of(object, "created_at");
  if (!created) return fail(created.error());
  operation.created_at = created->value_or(WallTime{});
  Result<std::optional<WallTime>> finished = time_of(object, "finished_at");
  if (!finished) return fail(finished.error());
  operation.finished_at = *finished;
  return operation;
}

}  // namespace

Json operation_object(const Operation& operation) {
  Json out = Json::object();
  out["id"] = operation.id.value;
  out["kind"] = to_string(operation.kind);
  out["state"] = to_string(operation.state);
  out["profile"] = text_or_null(operation.profile);
  out["reason"] = text_or_null(operation.reason);
  out["asked_by"] = text_or_null(operation.asked_by);
  out["progress"] = progress_object(operation.progress);
  out["steps"] = Json::array();
  for (const OperationStep& step : operation.steps) out["steps"].push_back(step_object(step));
  out["created_at"] = time_or_null(operation.created_at);
  out["finished_at"] = time_or_null(operation.finished_at);
  out["result"] = result_object(operation);
  out["error"] = operation.error ? error_object(*operation.error) : Json(nullptr);
  return out;
}

std::string operation_json(const Operation& operation) {
  return dump_json(operation_object(operation));
}

Result<Operation> operation_from_object(const Json& object) {
  Result<Operation> operation = identity_from(object);
  if (!operation) return operation;
  operation->profile = json_text(object, "profile");
  operation->reason = json_text(object, "reason");
  operation->asked_by = json_text(object, "asked_by");
  operation->progress = progress_from(json_member(object, "progress"));
  Result<std::vector<OperationStep>> steps = steps_from(json_member(object, "steps"));
  if (!steps) return fail(steps.error());
  operation->steps = std::move(*steps);
  operation->rolled_back_to = json_text(json_member(object, "result"), "rolled_back_to");
  if (const Json& error = json_member(object, "error"); error.is_object()) {
    operation->error = OperationError{json_text(error, "code"), json_text(error, "title"), json_text(error, "detail"),
                                      json_text(error, "advice")};
  }
  return operation;
}

Result<Operation> operation_from_json(std::string_view text) {
  Result<Json> object = parse_json(text);
  if (!object) return fail(object.error());
  return operation_from_object(*object);
}

}  // namespace k3d::api
