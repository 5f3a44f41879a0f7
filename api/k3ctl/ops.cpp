// k3ctl ops [ID].
#include "api/contract/operation.hpp"
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/present.hpp"
#include "api/k3ctl/progress.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "api/k3ctl/table.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

std::string took(const Operation& operation) {
  const WallTime end = operation.finished_at.value_or(std::chrono::system_clock::now());
  return duration_between(operation.created_at, end);
}

std::string remark(const Operation& operation) {
  if (!operation.ended()) return operation.progress.step;
  if (!operation.error) return {};
  const std::string& what = operation.error->title.empty() ? operation.error->code : operation.error->title;
  return operation.rolled_back_to.empty() ? what : what + " (rolled back to " + operation.rolled_back_to + ")";
}

/// Operations of kinds that this version doesn't know are left out.
std::string table_of(const Json& items) {
  Table table({{"ID"}, {"KIND"}, {"PROFILE"}, {"STATE"}, {"CREATED"}, {"TOOK", true}, {"REMARK"}});
  for (const Json& item : items) {
    const Result<Operation> operation = api::operation_from_object(item);
    if (!operation) continue;
    table.add({operation->id.value, std::string(to_string(operation->kind)), operation->profile,
               std::string(to_string(operation->state)), local_time(operation->created_at), took(*operation),
               remark(*operation)});
  }
  return table.text();
}

std::string page_of(const Operation& operation) {
  std::string out = safe_text(operation.id.value) + ": " + operation_title(operation) + ", " +
                    std::string(to_string(operation.state)) + "\n" + "created " + local_time(operation.created_at) +
                    ", took " + took(operation) + "\n";
  if (!operation.asked_by.empty()) out += "asked by " + safe_text(operation.asked_by) + "\n";
  if (!operation.reason.empty()) out += "reason: " + safe_text(operation.reason) + "\n";
  if (!operation.ended()) out += progress_line(operation, 100) + "\n";
  if (!operation.steps.empty()) {
    Table table({{"STEP"}, {"STATE"}, {"STARTED"}, {"TOOK", true}});
    for (const OperationStep& step : operation.steps) {
      const std::string time = step.finished_at ? duration_between(step.started_at, *step.finished_at) : std::string();
      table.add({step.name, std::string(to_string(step.state)), local_time(step.started_at), time});
    }
    out += "\n" + table.text();
  }
  if (operation.error) {
    const OperationError& error = *operation.error;
    out += "\n" + error_text(error.title.empty() ? error.code : error.title, error.detail, error.advice) + "\n";
  }
  if (!operation.rolled_back_to.empty()) out += "rolled back to " + safe_text(operation.rolled_back_to) + "\n";
  return out;
}

}  // namespace

Task<int> run_ops(Session& session, OpsCommand command) {
  const bool one = !command.id.empty();
  const std::string target = one ? "/api/v1/operations/" + http::url_encode(command.id)
                                 : "/api/v1/operations?limit=" + std::to_string(command.limit);
  return show(session, session.client.get(target), [one](const Json& body) -> Result<std::string> {
    if (!one) return table_of(json_member(body, "items"));
    const Result<Operation> operation = api::operation_from_object(body);
    if (!operation) return fail(operation.error());
    return page_of(*operation);
  });
}

}  // namespace k3d::cli
