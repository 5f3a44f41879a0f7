// The child process that asks the NVIDIA driver: a line in, a line out, until its parent is gone.
#pragma once

#include <optional>

namespace k3d::adapters {

/// The hidden first argument; the second is the parent's pid.
inline constexpr const char* kNvmlChild = "--nvml-child";

/// To be called first in main. Nothing if this process is not such a child, else the status to end with.
std::optional<int> run_as_nvml_child(int argc, char** argv);

}  // namespace k3d::adapters
