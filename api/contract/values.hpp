// The contract's rules for single values: what has no value is null, times are RFC 3339 in UTC, lists have one shape.
// Include only in .cpp files of this folder's users; the shapes themselves are in status, operation, profile, problem.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "daemon/base/units.hpp"
#include "daemon/model/overrides.hpp"

namespace k3d::api {

using Json = nlohmann::ordered_json;

/// The text, or null if it is empty.
Json text_or_null(const std::string& text);

/// RFC 3339, or null for the clock's zero, which is how the model says "never".
Json time_or_null(WallTime time);
Json time_or_null(const std::optional<WallTime>& time);

Json number_or_null(const std::optional<double>& number);
Json number_or_null(const std::optional<int>& number);
Json bytes_or_null(const std::optional<Bytes>& bytes);

/// {"ubatch": 2048, "cache_type": "q8_0"}: what is all digits is a number, everything else a text.
Json overrides_object(const Overrides& set);

/// {"items": [...], "next": null}. `items` is a JSON array, newest first; `next` is what `after` takes for the rest.
std::string list_json(const Json& items, const std::optional<std::string>& next);

}  // namespace k3d::api
