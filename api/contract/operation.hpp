// An operation as JSON, both ways: what the API answers is also what the store keeps.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/model/operation.hpp"

namespace k3d::api {

using Json = nlohmann::ordered_json;

/// The contract's operation, and beyond it `profile`, `reason` and `asked_by`.
Json operation_object(const Operation& operation);
std::string operation_json(const Operation& operation);

/// The same value back. Fails with `protocol`, naming the field, on anything operation_json would not write;
/// fields it doesn't know are left aside, so that an older k3d can read what a newer one wrote.
Result<Operation> operation_from_object(const Json& object);
Result<Operation> operation_from_json(std::string_view text);

}  // namespace k3d::api
