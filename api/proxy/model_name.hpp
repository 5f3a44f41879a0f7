// Finds the top-level "model" of a JSON object in the beginning of a body, without parsing the rest. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace k3d::proxy {

/// How much of a body is looked at.
inline constexpr std::size_t kModelWindow = 64 * 1024;

struct ModelSearch {
  bool decided = false;              ///< more bytes would not change the answer
  std::optional<std::string> model;  ///< the name, if it is a string
};

/// `body` is what has arrived so far. The first "model" at the top level counts; those in nested objects, in arrays or
/// inside strings don't. Text that is no JSON object is decided: no model.
ModelSearch find_model(std::string_view body);

}  // namespace k3d::proxy
