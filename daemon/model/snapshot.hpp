// What everyone but the supervisor sees: one immutable value per revision, with the status already serialised.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/failure.hpp"
#include "daemon/model/gpu.hpp"
#include "daemon/model/launch.hpp"
#include "daemon/model/measured.hpp"
#include "daemon/model/operation.hpp"
#include "daemon/model/settings.hpp"

namespace k3d {

enum class Phase { stopped, preparing, starting, loading, probing, ready, draining, stopping, backoff, failed };
std::string_view to_string(Phase phase);

enum class Severity { info, warning, error };
std::string_view to_string(Severity severity);

/// Standing trouble, shown until it is gone.
struct Condition {
  std::string code;
  Severity severity = Severity::warning;
  WallTime since{};
  std::string title, detail, advice;
};

struct EngineView {
  ContainerId container_id;
  std::string container_name;
  std::uint64_t attempt = 0;
  std::string image;
  std::vector<std::string> argv;
  std::optional<WallTime> started_at, ready_at;
  int restarts = 0;
  bool adopted = false;
  bool spec_matches = true;
  std::shared_ptr<const Plan> planned;     ///< null: it could not be planned
  std::optional<MeasuredMemory> measured;  ///< as the engine told once it was loaded
};

struct LoadView {
  Bytes done_bytes = 0, total_bytes = 0;
  double fraction = 0;
  std::optional<double> eta_seconds;
};

struct BackoffView {
  int attempt = 0, limit = 0;
  WallTime retry_at{};
};

struct ProxyView {
  std::vector<std::string> listen;
  std::uint64_t in_flight = 0, queued = 0;
  std::uint64_t admitted = 0;  ///< requests sent on since the start: tells whether there were any lately
  std::optional<double> oldest_wait_seconds;
};

/// What the proxy needs to send a request on. `generation` grows with every opening and closing of admission.
struct Route {
  std::string profile;
  EngineAddress address;
};

struct Snapshot {
  std::string revision;  ///< BOOT-N, the ETag
  std::uint64_t number = 0;
  std::uint64_t generation = 0;
  std::string version, instance;
  Phase phase = Phase::stopped;
  WallTime phase_since{};
  std::string active_profile, target_profile;  ///< empty: null
  std::optional<Route> route;                  ///< set while requests are admitted
  std::optional<EngineView> engine;
  LoadView load;
  std::optional<BackoffView> backoff;
  std::optional<Failure> last_failure;
  std::vector<Condition> conditions;
  std::string held_by;  ///< the operation that holds the GPUs; empty: none
  std::vector<GpuState> gpus;
  std::map<std::string, Overrides> overrides;  ///< by profile
  ProxyView proxy;
  std::vector<Operation> operations;  ///< newest first, at most 100
  std::shared_ptr<const Settings> settings;
  std::string status_json;            ///< GET status, serialised once
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace k3d
