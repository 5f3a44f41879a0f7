// How many tokens of prompts the engine takes at once: what a profile says, or what suits its placement. Pure.
#pragma once

#include "daemon/model/settings.hpp"

namespace k3d::engine {

struct Batches {
  int batch = 0, ubatch = 0;  ///< tokens; ubatch is the step in which a batch is computed
};

Batches batches_of(const Profile& profile);

}  // namespace k3d::engine
