// Bodies of requests: decoded strictly, since a misspelt field that is silently ignored changes what happens to a
// model that took 20 minutes to load.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/model/overrides.hpp"

namespace k3d::api {

/// POST profiles/{name}/activate.
struct ActivateRequest {
  bool force = false;        ///< skip draining
  bool accept_risk = false;  ///< start against the plan's advice
  bool restart = false;      ///< load again though it runs
  bool preempt = false;      ///< stop what holds the GPUs
  bool dry_run = false;      ///< answer what would happen, do nothing
  std::string reason;
};

/// POST deactivate.
struct DeactivateRequest {
  bool force = false;
  std::string reason;
};

/// POST profiles/{name}/overrides: takes the place of what was set before.
struct OverridesRequest {
  Overrides set;  ///< at least one
  std::string reason;
};

/// An empty body is every default. Fails with invalid_request, naming the field and what is allowed.
Result<ActivateRequest> parse_activate_request(std::string_view body);
Result<DeactivateRequest> parse_deactivate_request(std::string_view body);
/// {"set": {KEY: a whole number or a text as in YAML}, "reason"}. Which keys there may be is not decided here.
Result<OverridesRequest> parse_overrides_request(std::string_view body);
/// {"reason"}, or no body at all: of calls that take nothing else.
Result<std::string> parse_reason_request(std::string_view body);

/// The bodies that parse_* reads back.
std::string activate_request_json(const ActivateRequest& request);
std::string deactivate_request_json(const DeactivateRequest& request);
std::string overrides_request_json(const OverridesRequest& request);
std::string reason_request_json(const std::string& reason);

}  // namespace k3d::api
