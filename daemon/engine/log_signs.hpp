// What the log of an engine that loads says beside its progress: where memory went, a fit that was given up, GPUs that
// it does not see. Hints for conditions; nothing of the engine's life is decided by them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/units.hpp"
#include "daemon/engine/fit_outcome.hpp"
#include "daemon/engine/log_reader.hpp"

namespace k3d::engine {

/// What the engine allocated in one memory, in a plan's words.
struct Buffers {
  Bytes model = 0, context = 0, compute = 0;
};

struct LogSigns {
  bool loaded = false;                      ///< the model is in; what comes later is not read
  std::map<std::string, Buffers> buffers;   ///< by the engine's names: CUDA0, CPU, CPU_Mapped, CUDA_Host
  std::optional<Bytes> host_model_at_best;  ///< weights outside the GPUs if these were large enough, by the fit
  std::optional<FitOutcome> fitted;         ///< where a fit put everything, once it is loaded
  std::string fit_given_up;                 ///< why it loads without a fit although one was asked for; else empty
  std::string no_gpu;                       ///< the engine's words for seeing no GPU; else empty
};

/// Weights in this host's memory, of all its kinds.
Bytes host_model_bytes(const LogSigns& signs);

/// What was allocated of each GPU, in the engine's order, and of this host's memory.
struct Breakdown {
  std::vector<Buffers> devices;
  Buffers host;
};
Breakdown breakdown(const LogSigns& signs);

/// Experts that a fit put on the CPU although they were meant for VRAM; nothing without a fit, or before it is loaded.
/// Under an explicit placement compare host_model_bytes with the plan.
std::optional<Bytes> spilled_bytes(const LogSigns& signs);

/// Reads a log piece by piece, as it is written at the verbosity that k3d gives (4 to a file; through Docker, at 2,
/// only warnings and so only the last two signs).
class LogSignReader {
 public:
  void feed(std::string_view bytes);
  [[nodiscard]] const LogSigns& signs() const { return signs_; }

 private:
  void read(const EngineLine& line);
  void load_ended();

  LineSplitter splitter_;
  FitOutcomeReader fit_;
  LogSigns signs_;
};

}  // namespace k3d::engine
