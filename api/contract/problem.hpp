// RFC 9457 problems: how an Error looks from outside, and back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/base/error.hpp"

namespace k3d::api {

using Json = nlohmann::ordered_json;

inline constexpr std::string_view kProblemType = "application/problem+json";

/// {"type", "code", "title", "status", "detail", "advice", "breaks"}; the HTTP status is http_status(error.code).
Json problem_object(const Error& error);
std::string problem_json(const Error& error);

/// The Error in an answer that isn't 2xx. A body that is no problem of k3d (a proxy's error page, another service)
/// becomes `protocol` with the status and the body's first words.
Error error_from_problem(unsigned status, std::string_view body);

}  // namespace k3d::api
