#include "api/http/problem.hpp"

#include "api/contract/problem.hpp"

namespace k3d::api {

Response problem_response(const Error& error) {
  Response response;
  response.status = http_status(error.code);
  response.content_type = kProblemType;
  response.body = problem_json(error);
  return response;
}

}  // namespace k3d::api
