// Port: questions to a running engine. Implemented by adapters/llama_http.
#pragma once

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/model/launch.hpp"

namespace k3d {

enum class Health { refused, loading, ok };  ///< refused: nothing listens yet

class EngineClient {
 public:
  virtual ~EngineClient() = default;
  /// One GET /health within 3 s. An error (timed_out, protocol) is no verdict about the engine.
  virtual Task<Result<Health>> health(EngineAddress address) = 0;
  /// A completion of one token, within `limit`.
  virtual Task<Status> probe(EngineAddress address, seconds limit) = 0;
};

}  // namespace k3d
