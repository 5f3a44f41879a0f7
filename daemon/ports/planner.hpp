// Port: would it run, and how: asked of this host's files, GPUs and memory, or of a host that one doesn't have.
// Implemented by daemon/forecast. No answer changes anything.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/model/overrides.hpp"
#include "daemon/model/plan.hpp"
#include "daemon/model/settings.hpp"

namespace k3d {

/// One of this host's GPUs by its index, or any GPU by its memory.
struct AskedGpu {
  std::optional<int> index;
  Bytes free_bytes = 0, total_bytes = 0;
};

struct PlanQuestion {
  std::string profile;         ///< whose settings count; empty: the defaults
  std::string model, quant;    ///< in place of the profile's
  std::filesystem::path path;  ///< a file of a local set, in place of a model
  std::optional<std::vector<AskedGpu>> gpus;  ///< nothing: the profile's of this host, free now or held by our engine
  std::optional<Bytes> ram_bytes;             ///< nothing: this host's
  std::optional<Placement> placement;
  std::vector<double> tensor_split;  ///< layers by hand; with a placement in mode fit all of them on the GPUs
  Overrides set;  ///< context, slots, batch, ubatch, cache_type, fit_target_mib, as the configuration writes them
  std::optional<std::string> draft;  ///< a model's name in place of the profile's draft; empty: none
  bool exact = false;                ///< by the engine's own dry run
};

/// Whether a quant's kernels were seen to work: on this host, on the same GPU model elsewhere, or not.
enum class Proof { no, elsewhere, here, blocked };

struct PlanAnswer {
  Plan plan;
  Bytes present_bytes = 0;        ///< of the model's files, on this host
  std::vector<std::string> argv;  ///< llama-server's whole argument list; empty: not told, plan.warnings may say why
  std::optional<Proof> proof;     ///< nothing: unknown
  Profile settled;                ///< what was asked for, with what the plan chose where it was left open
};

/// A quant that is known of or is here.
struct QuantView {
  std::string model, quant;  ///< quant is empty for a model given by its path
  std::optional<Bytes> total_bytes, present_bytes;
  std::optional<Verdict> verdict;
  std::vector<std::string> reasons;
  std::optional<Proof> proof;
};

class Planner {
 public:
  virtual ~Planner() = default;
  /// Errors: unknown_profile, invalid_request, forbidden (a path outside of the configured folders), files_missing and
  /// the others of model files, conflict (exact while an engine has the GPUs), those of a GpuProbe.
  virtual Task<Result<PlanAnswer>> plan(PlanQuestion question) = 0;
  /// Every quant of the catalogue, of the profiles and of the models' folders, with default settings on this host.
  virtual Task<std::vector<QuantView>> quants() = 0;
  /// The newest plan of a profile as it is in force now, without argv, or why there is none; null: not known yet.
  /// Never waits.
  [[nodiscard]] virtual std::shared_ptr<const Result<PlanAnswer>> outlook(const std::string& profile) const = 0;
};

}  // namespace k3d
