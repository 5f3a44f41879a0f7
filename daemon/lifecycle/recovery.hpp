// Pure: what a daemon that starts makes of what it remembers and what it finds. Docker is the truth about what runs;
// what is remembered only says what was meant.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/lifecycle/failure_record.hpp"
#include "daemon/model/instance.hpp"
#include "daemon/model/operation.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::lifecycle {

struct Memory {
  std::string desired, fall_back_to;  ///< what should run, and what it was to replace
  std::string rolled_back_from;       ///< what should run was on its way back, because this profile failed
  std::string stopping;               ///< the newest attempt that k3d began to stop
  bool stopped_on_exit = false;       ///< by k3d's own end, on purpose
  std::string boot_id;                ///< of the host when k3d last ran; empty: never
  std::optional<FailureRecord> failure;
  std::vector<Operation> open;        ///< activations and deactivations that were under way, newest first
};

/// What Docker has of this instance.
struct Found {
  struct Ended {
    std::string profile;
    Failure failure;
  };
  std::optional<Engine> runs;
  std::optional<Ended> ended;  ///< the newest that doesn't run any more
};

struct Recovery {
  std::optional<event::Adopted> adopt;
  /// After the adopted engine has had a moment to say that it is well: goes on with what was under way.
  std::optional<Event> resume;
  bool at_once = false;  ///< resume without that moment: the adopted engine was being stopped
  std::string boot;  ///< a profile to activate because the host has booted
  bool boot_ran = false;  ///< it ran before: its plan has been judged
  std::vector<std::pair<OperationId, OperationError>> interrupted;
  std::optional<Failure> failure;  ///< to be shown as the last one
  bool forget = false;             ///< nothing is meant to run any more
};

/// `boot_id`: the host's now.
Recovery recover(const Memory& memory, const Found& found, const Boot& boot, const std::string& boot_id);

}  // namespace k3d::lifecycle
