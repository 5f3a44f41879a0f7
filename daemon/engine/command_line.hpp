// llama-server's whole argument list from a profile. Pure; everything comes from the configuration and this host.
// Not here: the container around it (daemon/lifecycle), the shell that redirects its log (log_wrapper).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/engine/speculative.hpp"
#include "daemon/model/engine_image.hpp"
#include "daemon/model/host_facts.hpp"
#include "daemon/model/launch.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::engine {

struct CommandInputs {
  Profile profile;
  bool vision = false;  ///< the image's source can see; else mmproj_path is left out
  EngineCapabilities capabilities;
  std::string model_path;                  ///< of the first shard, inside the container
  std::optional<std::string> mmproj_path;  ///< inside the container
  DraftPlace draft;                        ///< of profile.speculative
  HostFacts host;
  EngineAddress address;
  bool log_to_file = true;  ///< else the log goes through Docker, and only warnings are written
};

/// Program excluded. Never holds the API key: that travels in LLAMA_API_KEY.
/// Errors: flag_missing, naming flag, setting and image; start_refused for extra_args that k3d computes itself.
Result<std::vector<std::string>> command_line(const CommandInputs& inputs);

}  // namespace k3d::engine
