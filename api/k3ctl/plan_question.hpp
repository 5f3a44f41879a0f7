// The words of `k3ctl plan` as a question, for the daemon or to be worked out here. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::cli {

/// As they were written; what is empty was not.
struct PlanWords {
  std::string profile, model, quant, path;
  std::string gpus, ram;
  std::string n_cpu_moe;  ///< a number, or auto
  std::vector<double> tensor_split;
  std::vector<int> fit_target_mib;
  std::string cache_type, draft;
  std::optional<int> context, slots, batch, ubatch;
  bool exact = false;
};

/// "8x97887MiB", "2x96GiB,1x48GiB", "none": GPUs by their free memory; "0,3": this host's by index.
/// Error invalid_request, with what is allowed.
Result<std::vector<AskedGpu>> parse_gpus(const std::string& text);

/// Error invalid_request, naming the option.
Result<PlanQuestion> question_of(const PlanWords& words);

/// Whether everything that it takes is in the words: then no daemon is asked.
bool needs_no_daemon(const PlanQuestion& question);

}  // namespace k3d::cli
