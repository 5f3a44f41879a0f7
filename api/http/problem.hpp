// An Error as a response: RFC 9457 problem details.
#pragma once

#include "api/http/exchange.hpp"
#include "daemon/base/error.hpp"

namespace k3d::api {

Response problem_response(const Error& error);

}  // namespace k3d::api
