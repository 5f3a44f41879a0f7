#include "api/contract/audit.hpp"

#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {

Json audit_object(const AuditEntry& entry) {
  Json out = Json::object();
  out["number"] = entry.number;
  out["at"] = time_or_null(entry.at);
  out["who"] = text_or_null(entry.who);
  out["action"] = entry.action;
  out["subject"] = text_or_null(entry.subject);
  out["reason"] = text_or_null(entry.reason);
  out["operation_id"] = text_or_null(entry.operation);
  out["outcome"] = text_or_null(entry.outcome);
  return out;
}

std::string audit_json(const std::vector<AuditEntry>& entries, bool more) {
  Json items = Json::array();
  for (const AuditEntry& entry : entries) items.push_back(audit_object(entry));
  std::optional<std::string> next;
  if (more && !entries.empty()) next = std::to_string(entries.back().number);
  return list_json(items, next);
}

std::string reload_json(const ReloadOutcome& outcome) {
  Json out = Json::object();
  out["changed"] = Json(outcome.changed);
  out["restart_needed"] = Json(outcome.restart_needed);
  out["drifted_profiles"] = Json(outcome.drifted_profiles);
  return dump_json(out);
}

}  // namespace k3d::api
