// k3d's own answers on the proxy, in OpenAI's shape: {"error": {"message", "type", "code"}}. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/error.hpp"
#include "daemon/model/snapshot.hpp"

namespace k3d::proxy {

struct Answer {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  ///< JSON
};

Answer error_answer(const Error& error);

/// What is answered instead of sending a request on; nothing if it may go on. `model` is the request's, if it names
/// one.
std::optional<Answer> refusal(const Snapshot& snapshot, const std::optional<std::string>& model);

/// GET /v1/models: every profile and alias, with its state.
Answer models_answer(const Snapshot& snapshot);

/// The head and body of an answer as they go over the wire.
std::string serialise(const Answer& answer, bool keep_alive, bool head_only);

}  // namespace k3d::proxy
