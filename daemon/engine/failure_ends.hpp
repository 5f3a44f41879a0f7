// How a container ended, without its log: the exit code, memory that ran out and Docker's own absence, read together.
// Data, and its look-up. What k3d itself stopped never comes here: the lifecycle drops ends that it asked for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace k3d::engine {

struct Ending {
  std::optional<int> exit_code;   ///< nothing if nobody knows
  bool out_of_memory = false;     ///< by Docker's word or the kernel's: of the engine or another process
  bool docker_restarted = false;  ///< Docker was gone around the end
};

struct FailureEnd {
  std::string_view code;
  std::span<const int> exit_codes;                      ///< empty: any
  bool unknown = false;                                 ///< holds for an unknown exit code too
  std::optional<bool> out_of_memory, docker_restarted;  ///< nothing: either
  bool log_first = false;                               ///< the log may say it more exactly
  std::string_view advice = {};                         ///< empty: the kind's
};

/// The first that fits counts, the last fits everything.
std::span<const FailureEnd> failure_ends();

const FailureEnd& find_end(const Ending& ending);

/// "exit code 139 (segmentation fault)".
std::string exit_words(const std::optional<int>& exit_code);

}  // namespace k3d::engine
