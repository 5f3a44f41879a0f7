// Calls on k3d's control API. An Error means that no answer came; an answer that refuses is an Answer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/base/async/task.hpp"
#include "daemon/base/http_client.hpp"
#include "daemon/base/secret.hpp"

namespace k3d::api {

struct Answer {
  unsigned status = 0;
  std::string body;

  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
  /// What a 4xx or 5xx says.
  [[nodiscard]] Error problem() const;
};

/// A body that is still coming, or the refusal that came instead.
struct StreamAnswer {
  std::unique_ptr<http::ResponseStream> stream;  ///< null if refused
  Answer refusal;
};

class ControlClient {
 public:
  ControlClient(http::Endpoint endpoint, Secret token) : http_(std::move(endpoint)), token_(std::move(token)) {}

  /// `target` begins with /. Deadline 15 s, or `deadline`.
  Task<Result<Answer>> get(std::string target);
  Task<Result<Answer>> get(std::string target, milliseconds deadline);
  /// `body` is JSON; nothing is sent as body if it is empty.
  Task<Result<Answer>> post(std::string target, std::string body);
  Task<Result<Answer>> post(std::string target, std::string body, milliseconds deadline);
  Task<Result<Answer>> remove(std::string target, std::string body = {});
  /// A GET whose body is read as it comes; `accept` is a media type.
  Task<Result<StreamAnswer>> open(std::string target, std::string accept);

  [[nodiscard]] const http::Endpoint& endpoint() const { return http_.endpoint(); }

 private:
  [[nodiscard]] http::Request request(std::string method, std::string target) const;
  Task<Result<Answer>> send(http::Request request, milliseconds deadline);

  http::Client http_;
  Secret token_;
};

}  // namespace k3d::api
