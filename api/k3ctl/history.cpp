// k3ctl history: the audit trail.
#include <ostream>

#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/present.hpp"
#include "api/k3ctl/table.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

std::string table_of(const Json& items) {
  Table table({{"WHEN"}, {"WHO"}, {"WHAT"}, {"SUBJECT"}, {"OUTCOME"}, {"REASON"}});
  if (!items.is_array()) return table.text();
  for (const Json& entry : items) {
    const auto text = [&entry](const char* key) { return json_string(entry, key).value_or(""); };
    table.add({local_time(text("at")), text("who"), text("action"), text("subject"), text("outcome"), text("reason")});
  }
  return table.text();
}

}  // namespace

Task<int> run_history(Session& session, HistoryCommand command) {
  Result<api::Answer> answer = co_await session.client.get("/api/v1/audit?limit=" + std::to_string(command.limit));
  if (!answer) co_return report_unreachable(session, answer.error());
  if (!answer->ok()) co_return report_refusal(session, *answer);
  if (session.json) {
    print_raw(session, answer->body);
    co_return kDone;
  }
  const Result<Json> body = parse_json(answer->body);
  if (!body) co_return report_nonsense(session, body.error());
  session.out << table_of(json_member(*body, "items")) << std::flush;
  co_return kDone;
}

}  // namespace k3d::cli
