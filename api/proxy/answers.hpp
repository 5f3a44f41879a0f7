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

/// When to come again after what passes soon: too much at once, a restart of k3d.
inline constexpr int kRetrySeconds = 5;

Answer openai_error(unsigned status, const std::string& message, const std::string& code);
Answer error_answer(const Error& error);

/// GET /v1/models: every profile and alias, with its state.
Answer models_answer(const Snapshot& snapshot);

/// The head and body of an answer as they go over the wire.
std::string serialise(const Answer& answer, bool keep_alive, bool head_only);

}  // namespace k3d::proxy
