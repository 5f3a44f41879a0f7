#include "api/contract/requests.hpp"

#include <map>

#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

/// A reason is a line for the audit trail.
constexpr std::size_t kMaxReason = 500;

using Flags = std::map<std::string, bool*, std::less<>>;

std::unexpected<Error> invalid(std::string message, std::string allowed) {
  return fail(Code::invalid_request, std::move(message), std::move(allowed));
}

std::string allowed_fields(const Flags& flags) {
  std::string out = "allowed are ";
  for (const auto& [name, value] : flags) out += name + ", ";
  return out + "reason";
}

/// Reads one field into its flag or into `reason`.
Status read_field(const std::string& name, const Json& value, const Flags& flags, std::string& reason) {
  if (name == "reason") {
    if (value.is_null()) return {};
    if (!value.is_string()) return invalid("\"reason\" is not a text", "write a text of at most 500 bytes, or null");
    reason = value.get<std::string>();
    if (reason.size() <= kMaxReason) return {};
    return invalid("\"reason\" has " + std::to_string(reason.size()) + " bytes", "write at most 500 bytes");
  }
  const auto flag = flags.find(name);
  if (flag == flags.end()) {
    return invalid("there is no field \"" + name.substr(0, 80) + "\" in this request", allowed_fields(flags));
  }
  if (!value.is_boolean()) return invalid("\"" + name + "\" is not true or false", "write true or false");
  *flag->second = value.get<bool>();
  return {};
}

Status read_body(std::string_view body, const Flags& flags, std::string& reason) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  Result<Json> object = parse_json(body);
  if (!object) return invalid("the body is " + object.error().message, "send a JSON object, or no body at all");
  if (!object->is_object()) return invalid("the body is not a JSON object", allowed_fields(flags));
  for (const auto& [name, value] : object->items()) {
    if (Status read = read_field(name, value, flags, reason); !read) return read;
  }
  return {};
}

}  // namespace

Result<ActivateRequest> parse_activate_request(std::string_view body) {
  ActivateRequest request;
  const Flags flags{{"force", &request.force},
                    {"accept_risk", &request.accept_risk},
                    {"restart", &request.restart},
                    {"preempt", &request.preempt},
                    {"dry_run", &request.dry_run}};
  if (Status read = read_body(body, flags, request.reason); !read) return fail(read.error());
  return request;
}

Result<DeactivateRequest> parse_deactivate_request(std::string_view body) {
  DeactivateRequest request;
  const Flags flags{{"force", &request.force}};
  if (Status read = read_body(body, flags, request.reason); !read) return fail(read.error());
  return request;
}

std::string activate_request_json(const ActivateRequest& request) {
  Json out = Json::object();
  out["force"] = request.force;
  out["accept_risk"] = request.accept_risk;
  out["restart"] = request.restart;
  out["preempt"] = request.preempt;
  out["dry_run"] = request.dry_run;
  out["reason"] = text_or_null(request.reason);
  return dump_json(out);
}

std::string deactivate_request_json(const DeactivateRequest& request) {
  Json out = Json::object();
  out["force"] = request.force;
  out["reason"] = text_or_null(request.reason);
  return dump_json(out);
}

}  // namespace k3d::api
