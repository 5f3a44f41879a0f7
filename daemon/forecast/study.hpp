// One question worked out: the model's files found and read, the plan, and whether the quant may serve. Blocking, and of
// the planning executor's thread. Not here: GPUs and memory (hardware), the argument list (lifecycle).
#pragma once

#include <memory>

#include "daemon/forecast/hardware.hpp"
#include "daemon/forecast/headers_cache.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::forecast {

struct Study {
  std::shared_ptr<const Settings> settings;
  PlanQuestion question;
  Profile profile;  ///< as asked_profile has it
  Hardware hardware;
  HeadersPtr remote = nullptr;  ///< the model's headers where its files aren't here
};

/// Errors: forbidden, files_missing, shard_missing, not_first_shard, model_corrupt, model_truncated, io_failed.
Result<PlanAnswer> work_out(HeadersCache& cache, const Study& study);

/// What is on this host of a quant's GGUF files, complete or not.
Bytes present_bytes(const Settings& settings, const std::string& model, const std::string& quant);

}  // namespace k3d::forecast
