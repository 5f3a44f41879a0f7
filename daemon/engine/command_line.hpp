// llama-server's whole argument list from a profile. Pure. Either --fit or an explicit placement, never both: the
// engine drops the fit with only a warning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/engine_image.hpp"
#include "daemon/model/host_facts.hpp"
#include "daemon/model/launch.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::engine {

struct CommandInputs {
  Profile profile;
  bool vision = false;  ///< the engine's source can see
  EngineCapabilities capabilities;
  std::string model_path;                  ///< inside the container
  std::optional<std::string> mmproj_path;  ///< inside the container
  HostFacts host;
  EngineAddress address;
  bool log_to_file = true;
};

/// Errors: flag_missing, naming flag, setting and image; start_refused for extra_args that contradict a computed flag.
Result<std::vector<std::string>> command_line(const CommandInputs& inputs);

/// --cache-ram in MiB: a sixteenth of RAM, 1 to 64 GiB, a multiple of 256 MiB. One Kimi-K3 entry is 0.9 to 1.4 GB, so
/// the engine's own 8 GiB churns.
int auto_cache_ram_mib(std::optional<Bytes> ram);

/// --ctx-checkpoints: as many per slot as a sixteenth of RAM holds at 443.11 MiB each (Kimi-K3's recurrent state of a
/// sequence: 69 layers of 6.4219 MiB), 2 to 32.
int auto_checkpoints(std::optional<Bytes> ram, int slots);

}  // namespace k3d::engine
