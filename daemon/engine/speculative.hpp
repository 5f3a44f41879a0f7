// How answers are drafted ahead, as flags of llama-server. Pure.
// Not here: which GPU holds the output (the plan), where the draft's file is (daemon/lifecycle).
#pragma once

#include <optional>
#include <string>

#include "daemon/engine/arguments.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::engine {

/// A draft model as the engine sees it.
struct DraftPlace {
  std::string path;                   ///< inside the container; empty: drafts without a model
  std::optional<std::string> device;  ///< llama-server's name, such as CUDA7; nothing: there is no GPU
};

void add_speculative(Arguments& arguments, const Speculative& speculative, const DraftPlace& place);

}  // namespace k3d::engine
