// One Docker Engine API: the version both sides speak, and calls whose failures are k3d's codes.
// Knows no single resource; those are in docker.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/http_client.hpp"
#include "docker_driver/errors.hpp"

namespace k3d::docker {

struct ApiVersion {
  unsigned major = 0, minor = 0;

  friend auto operator<=>(const ApiVersion&, const ApiVersion&) = default;
  [[nodiscard]] std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
};

/// The version to speak with an Engine whose newest one is `offered` ("1.41"): the older of that and ours.
/// docker_refused if the Engine is older than k3d needs, or if that isn't a version.
Result<ApiVersion> agree_on(std::string_view offered);

struct Call {
  std::string method = "GET";
  std::string path;   ///< below the version: "/containers/json"
  std::string query;  ///< encoded, without the "?"
  std::string body;   ///< JSON; sent if not empty
  milliseconds deadline{5000};
  Subject subject = Subject::engine;
  std::string name;  ///< of the image or container, for messages
};

class Api {
 public:
  using Stream = std::unique_ptr<http::ResponseStream>;

  explicit Api(Result<http::Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

  /// The answer if its status is below 400; else, and without an answer, an Error in k3d's codes.
  Task<Result<http::Response>> call(Call call);
  /// The same with the body still to come. `deadline` is for the head.
  Task<Result<Stream>> open(Call call);
  /// The version in use, asked for if none is.
  Task<Result<ApiVersion>> version();

 private:
  template <class T>
  using Attempt = Task<Result<T>> (Api::*)(Call, ApiVersion);
  template <class T>
  Task<Result<T>> in_agreed_version(Attempt<T> attempt, Call call);
  Task<Result<http::Response>> call_in(Call call, ApiVersion version);
  Task<Result<Stream>> open_in(Call call, ApiVersion version);
  Task<Result<http::Response>> exchange(http::Request request, milliseconds deadline);
  void note(const Error& error);

  Result<http::Endpoint> endpoint_;
  std::optional<ApiVersion> version_;
};

}  // namespace k3d::docker
