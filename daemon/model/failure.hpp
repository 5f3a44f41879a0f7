// A failure of an engine with its name, its evidence and what to do. The catalogue is in daemon/engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/units.hpp"
#include "daemon/model/overrides.hpp"

namespace k3d {

/// A change of a profile's settings that avoids a failure.
struct Remedy {
  std::string text;
  Overrides set;
};

struct Failure {
  std::string code;  ///< one of the catalogue's, such as model_truncated
  std::string title, detail, advice;
  std::string profile;
  std::string operation_id;
  std::uint64_t attempt = 0;
  std::optional<int> exit_code;
  bool retryable = false;
  std::optional<Remedy> remedy;
  bool remedied = false;  ///< k3d has applied it by itself: the next start is another one
  std::vector<std::string> log_excerpt;  ///< the last lines that matter, at most 20
  WallTime at{};
};

}  // namespace k3d
