#include "tests/unit/api_contract/schema_check.hpp"

#include <set>

#include "api/contract/openapi.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

const Json& document() {
  static const Json kDocument = Json::parse(openapi_json());
  return kDocument;
}

const Json& resolved(const Json& schema) {
  if (!schema.contains("$ref")) return schema;
  const std::string ref = schema["$ref"].get<std::string>();
  return resolved(document().at(Json::json_pointer(ref.substr(1))));
}

bool is_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

std::string faults(const Json& schema, const Json& value, const std::string& at, bool closed);

std::string type_faults(const Json& schema, const Json& value, const std::string& at) {
  if (!schema.contains("type")) return {};
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  for (const Json& type : types) {
    if (is_type(value, type.get<std::string>())) return {};
  }
  return at + ": " + value.dump() + " is not " + types.dump() + "\n";
}

std::string object_faults(const Json& schema, const Json& value, const std::string& at, bool closed) {
  std::string out;
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) out += at + ": lacks " + name.get<std::string>() + "\n";
  }
  if (!schema.contains("properties")) return out;
  for (const auto& [name, member] : value.items()) {
    if (schema["properties"].contains(name)) {
      out += faults(schema["properties"][name], member, at + "." + name, true);
    } else if (closed) {
      out += at + ": " + name + " is not described\n";
    }
  }
  return out;
}

std::string faults(const Json& raw, const Json& value, const std::string& at, bool closed) {
  const Json& schema = resolved(raw);
  std::string out = type_faults(schema, value, at);
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
    out += at + ": " + value.dump() + " is not in the enum\n";
  }
  for (const Json& part : schema.value("allOf", Json::array())) out += faults(part, value, at, false);
  if (schema.contains("anyOf")) {
    std::string all;
    for (const Json& part : schema["anyOf"]) {
      const std::string wrong = faults(part, value, at, closed);
      if (wrong.empty()) return out;
      all += wrong;
    }
    out += all;
  }
  if (value.is_object()) out += object_faults(schema, value, at, closed);
  if (value.is_array() && schema.contains("items")) {
    for (const Json& item : value) out += faults(schema["items"], item, at + "[]", true);
  }
  return out;
}

}  // namespace

std::string schema_faults(const std::string& schema_name, const std::string& json) {
  const Json& schema = document()["components"]["schemas"].at(schema_name);
  return faults(schema, Json::parse(json), schema_name, true);
}

}  // namespace k3d::api
