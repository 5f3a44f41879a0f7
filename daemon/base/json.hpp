// JSON at the edges: parsing that can't throw and dumping that can't fail on bad UTF-8.
// Include this only in .cpp files; headers use <nlohmann/json_fwd.hpp>.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"

namespace k3d {

using Json = nlohmann::ordered_json;

/// Parses one document of at most 64 nested levels; fails with `protocol` and what the text begins with.
Result<Json> parse_json(std::string_view text);

/// Compact text; bytes that aren't UTF-8 become U+FFFD.
std::string dump_json(const Json& value);

/// The member `key` of an object as a T, or nothing if it is absent, null or of another type.
std::optional<std::string> json_string(const Json& object, std::string_view key);
std::optional<std::int64_t> json_int(const Json& object, std::string_view key);
std::optional<bool> json_bool(const Json& object, std::string_view key);
/// A text, empty for anything else.
std::string json_text(const Json& object, std::string_view key);
/// The member `key` if `object` is an object that has it, else a null value.
const Json& json_member(const Json& object, std::string_view key);

}  // namespace k3d
