// api/openapi.yaml as JSON, converted when k3d is built.
#pragma once

#include <string_view>

namespace k3d::api {

std::string_view openapi_json();

}  // namespace k3d::api
