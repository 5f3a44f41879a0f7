// What a load took, as the engine itself told: to be held against its plan.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/units.hpp"

namespace k3d {

struct MeasuredMemory {
  struct Part {
    Bytes model_bytes = 0, context_bytes = 0, compute_bytes = 0;

    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> devices;  ///< in the engine's order, which is that of the plan's devices
  Part host;

  friend bool operator==(const MeasuredMemory&, const MeasuredMemory&) = default;
};

/// What the engine's own dry run says of a plan.
struct ExactFigures {
  MeasuredMemory memory;
  std::vector<std::string> beside;  ///< a line for each memory: its figures beside the plan's
};

}  // namespace k3d
