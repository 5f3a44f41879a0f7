#include "daemon/base/json.hpp"

namespace k3d {
namespace {

constexpr int kMaxDepth = 64;

/// Depth is checked before parsing: nlohmann's DOM is destroyed recursively.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (too_deep(text)) return fail(Code::protocol, "JSON nested deeper than 64 levels");
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    return fail(Code::protocol, "not valid JSON: \"" + dump_json(Json(std::string(text.substr(0, 80)))) + "\"");
  }
  return value;
}

std::string dump_json(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

const Json& json_member(const Json& object, std::string_view key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(std::string(key));
  return found == object.end() ? kNull : *found;
}

std::optional<std::string> json_string(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  if (!member.is_string()) return std::nullopt;
  return member.get<std::string>();
}

std::string json_text(const Json& object, std::string_view key) { return json_string(object, key).value_or(""); }

std::optional<std::int64_t> json_int(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  if (!member.is_number_integer()) return std::nullopt;
  return member.get<std::int64_t>();
}

std::optional<bool> json_bool(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  if (!member.is_boolean()) return std::nullopt;
  return member.get<bool>();
}

}  // namespace k3d
