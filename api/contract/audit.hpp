// The audit trail and the outcome of a reload as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/audit.hpp"
#include "daemon/model/reload.hpp"

namespace k3d::api {

using Json = nlohmann::ordered_json;

/// {"number", "at", "who", "action", "subject", "reason", "operation_id", "outcome"}.
Json audit_object(const AuditEntry& entry);

/// The list of GET audit, newest first; `more` if there are older ones than `entries`.
std::string audit_json(const std::vector<AuditEntry>& entries, bool more);

/// {"changed", "restart_needed", "drifted_profiles"}.
std::string reload_json(const ReloadOutcome& outcome);

}  // namespace k3d::api
