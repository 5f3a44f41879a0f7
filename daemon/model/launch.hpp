// A launch specification: everything a container is created from. Made of the configuration, never of a request.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/units.hpp"
#include "daemon/model/plan.hpp"

namespace k3d {

struct BindMount {
  std::filesystem::path source, target;
  bool read_only = true;
};

struct LaunchSpec {
  std::string name;   ///< k3d-INSTANCE-ATTEMPT
  std::string image;  ///< tag or id
  std::vector<std::string> entrypoint;  ///< empty: the image's
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> labels;
  std::vector<BindMount> mounts;
  std::vector<std::string> cdi_devices;  ///< "nvidia.com/gpu=GPU-…"
  std::string user;                      ///< "UID:GID"
  std::vector<std::string> groups;       ///< supplementary gids
  bool host_network = true;              ///< else no network at all
  bool host_ipc = true;
  bool memlock_unlimited = true;
};

/// Where and how the engine of an attempt is reached and watched.
struct EngineAddress {
  std::string unix_path;    ///< socket, or
  std::uint16_t port = 0;   ///< loopback TCP
  std::string api_key;      ///< asked for on TCP only
};

struct Launch {
  std::string profile;
  std::uint64_t attempt = 0;
  LaunchSpec container;
  EngineAddress address;
  std::filesystem::path folder;  ///< of the attempt: engine.sock, engine.log
  std::filesystem::path log;     ///< empty: the log goes through Docker
  std::vector<std::string> argv; ///< llama-server's whole argument list, program excluded
  std::string image_id;
  std::string spec_hash;
  Bytes weight_bytes = 0;        ///< of all shards, what loading reads
  std::shared_ptr<const Plan> plan;  ///< what it was computed from; null: it could not be planned
  /// Where the state keeps what the load measures; empty: it isn't kept.
  std::string measured_key, pinned_key, load_rate_key;
  bool exact_preflight = false;  ///< the engine is asked before it loads
  std::string unproven;          ///< in words, what nobody has proven on this host; empty: nothing needs a proof
};

}  // namespace k3d
