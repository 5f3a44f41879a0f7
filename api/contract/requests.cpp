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
  std::string out;
  for (const auto& [name, value] : flags) out += name + ", ";
  return flags.empty() ? "allowed is reason" : "allowed are " + out + "reason";
}

Status read_reason(const Json& value, std::string& reason) {
  if (value.is_null()) return {};
  if (!value.is_string()) return invalid("\"reason\" is not a text", "write a text of at most 500 bytes, or null");
  reason = value.get<std::string>();
  if (reason.size() <= kMaxReason) return {};
  return invalid("\"reason\" has " + std::to_string(reason.size()) + " bytes", "write at most 500 bytes");
}

std::unexpected<Error> unknown_field(const std::string& name, std::string allowed) {
  return invalid("there is no field \"" + name.substr(0, 80) + "\" in this request", std::move(allowed));
}

/// Reads one field into its flag or into `reason`.
Status read_field(const std::string& name, const Json& value, const Flags& flags, std::string& reason) {
  if (name == "reason") return read_reason(value, reason);
  const auto flag = flags.find(name);
  if (flag == flags.end()) return unknown_field(name, allowed_fields(flags));
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

constexpr const char* kSetAllowed = "write a whole number, or a text as in the configuration";

Status read_set(const Json& value, Overrides& set) {
  if (!value.is_object()) return invalid("\"set\" is not an object", "write {KEY: VALUE}, such as {\"ubatch\": 2048}");
  for (const auto& [key, item] : value.items()) {
    const std::string name = key.substr(0, 80);
    if (!item.is_number_integer() && !item.is_string()) {
      return invalid("\"set." + name + "\" is neither a whole number nor a text", kSetAllowed);
    }
    set[key] = item.is_string() ? item.get<std::string>() : item.dump();
  }
  if (!set.empty()) return {};
  return invalid("\"set\" is empty", "name at least one setting; DELETE removes the overrides");
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

Result<OverridesRequest> parse_overrides_request(std::string_view body) {
  constexpr const char* kAllowed = "allowed are set, reason";
  const Result<Json> object = parse_json(body);
  if (!object) return invalid("the body is " + object.error().message, kAllowed);
  if (!object->is_object()) return invalid("the body is not a JSON object", kAllowed);
  OverridesRequest request;
  for (const auto& [name, value] : object->items()) {
    Status read = name == "set"      ? read_set(value, request.set)
                  : name == "reason" ? read_reason(value, request.reason)
                                     : Status(unknown_field(name, kAllowed));
    if (!read) return fail(read.error());
  }
  if (request.set.empty()) return invalid("\"set\" is missing", kAllowed);
  return request;
}

Result<std::string> parse_reason_request(std::string_view body) {
  std::string reason;
  if (Status read = read_body(body, {}, reason); !read) return fail(read.error());
  return reason;
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

std::string overrides_request_json(const OverridesRequest& request) {
  Json out = Json::object();
  out["set"] = overrides_object(request.set);
  out["reason"] = text_or_null(request.reason);
  return dump_json(out);
}

std::string reason_request_json(const std::string& reason) {
  Json out = Json::object();
  out["reason"] = text_or_null(reason);
  return dump_json(out);
}

}  // namespace k3d::api
