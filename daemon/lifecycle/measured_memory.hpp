// Pure: what loads have measured, as the state keeps it: memory by plan, the placement of a good fit, load rates.
// Not here: reading them off an engine (measured_load), asking the store (journal).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/engine/fit_outcome.hpp"
#include "daemon/engine/log_signs.hpp"
#include "daemon/model/measured.hpp"
#include "daemon/model/plan.hpp"

namespace k3d::lifecycle {

/// What a load depends on besides its placement.
struct LoadIdentity {
  std::string image;                 ///< its tag
  std::string files;                 ///< identity of the model's files and the draft's
  std::vector<std::string> devices;  ///< UUIDs
};

/// Keys of the state. Of the same inputs are profiles that differ in nothing that memory depends on.
std::string measured_key(const LoadIdentity& identity, const Profile& launched);
std::string pinned_key(const LoadIdentity& identity, const Profile& configured);
std::string load_rate_key(const std::string& files_identity);

MeasuredMemory measured_of(const engine::LogSigns& signs);
MeasuredMemory measured_of(const engine::Breakdown& seen);

/// Weights in this host's memory over what was planned to be there, if a load on GPUs left over 5 % more of them; else 0.
Bytes spilled_beyond(const Plan& plan, const engine::LogSigns& signs);
std::string to_text(const MeasuredMemory& memory);
std::optional<MeasuredMemory> measured_memory(std::string_view text);

/// A fit that was good, with the batches it was for.
struct PinnedPlacement {
  engine::FitOutcome placed;
  int batch = 0, ubatch = 0;
};
std::string to_text(const PinnedPlacement& pinned);
std::optional<PinnedPlacement> pinned_placement(std::string_view text);

/// In words with figures, if a load took over 5 % more or less than planned of any memory. Where the engine placed
/// everything by itself, the GPUs count together: which of them took what is only a forecast.
std::optional<std::string> difference(const Plan& plan, const MeasuredMemory& measured);

}  // namespace k3d::lifecycle
