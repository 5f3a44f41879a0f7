// k3ctl history: the audit trail.
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
    table.add({local_time(json_text(entry, "at")), json_text(entry, "who"), json_text(entry, "action"),
               json_text(entry, "subject"), json_text(entry, "outcome"), json_text(entry, "reason")});
  }
  return table.text();
}

}  // namespace

Task<int> run_history(Session& session, HistoryCommand command) {
  return show(session, session.client.get("/api/v1/audit?limit=" + std::to_string(command.limit)),
              [](const Json& body) { return table_of(json_member(body, "items")); });
}

}  // namespace k3d::cli
