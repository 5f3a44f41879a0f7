// Port: what an inference request may ask of the lifecycle. Implemented by the supervisor; of the control loop.
#pragma once

#include <string>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d {

struct Wanted {
  std::string profile;
  bool switch_over = false;  ///< activate it if another one runs or nothing does (on_request: switch)
  std::string asked_by;      ///< "request from ADDRESS", for the audit trail
};

class Demand {
 public:
  virtual ~Demand() = default;
  /// Returns once requests for `wanted.profile` are admitted, or with an error: model_loading (still on its way at
  /// `until`), profile_not_active (another one runs and stays: for its residency, or no switch was asked for),
  /// no_active_profile, engine_failed, gpus_held, unknown_profile, shutting_down. A deadline that has passed starts
  /// the switch and doesn't wait.
  virtual Task<Status> ensure_ready(Wanted wanted, SteadyTime until) = 0;
};

}  // namespace k3d
