// What /proc tells of somebody's process: its name and the Docker container it is in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace k3d::adapters {

struct ProcessWords {
  std::string name;       ///< empty: hidden from us
  std::string container;  ///< Docker's full id; empty: none, or hidden
};

/// Nothing if there is no such process (any more).
std::optional<ProcessWords> process_words(int pid);

/// Docker's id in the text of a /proc/PID/cgroup; empty: none. Of nested containers, the innermost.
std::string container_in(std::string_view cgroup);

}  // namespace k3d::adapters
