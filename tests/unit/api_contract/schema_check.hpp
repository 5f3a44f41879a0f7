// Holds a JSON text to a schema of api/openapi.yaml: types, enums, required fields, and no field beyond the schema's.
// Understands only the keywords that the description uses.
#pragma once

#include <string>

namespace k3d::api {

/// What is wrong with `json` as an instance of components/schemas/NAME; empty if nothing is.
std::string schema_faults(const std::string& schema_name, const std::string& json);

}  // namespace k3d::api
