// Long work with an id, progress and an end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/error.hpp"
#include "daemon/base/ids.hpp"
#include "daemon/base/units.hpp"

namespace k3d {

enum class OperationKind { activate, deactivate };
enum class OperationState { queued, running, succeeded, failed, cancelled };

std::string_view to_string(OperationKind kind);
std::string_view to_string(OperationState state);
std::optional<OperationKind> parse_operation_kind(std::string_view text);
std::optional<OperationState> parse_operation_state(std::string_view text);

struct Progress {
  std::string step;
  std::optional<double> fraction;
  Bytes done_bytes = 0, total_bytes = 0;
  std::optional<double> rate_bytes_per_second, eta_seconds;
};

struct OperationStep {
  std::string name;
  OperationState state = OperationState::running;
  WallTime started_at{};
  std::optional<WallTime> finished_at;
};

/// What an operation ended with when it failed: a problem code or a failure code.
struct OperationError {
  std::string code, title, detail, advice;
};

struct Operation {
  OperationId id;
  OperationKind kind = OperationKind::activate;
  OperationState state = OperationState::queued;
  std::string profile;  ///< may be empty for deactivate
  std::string reason, asked_by;
  Progress progress;
  std::vector<OperationStep> steps;
  WallTime created_at{};
  std::optional<WallTime> finished_at;
  std::optional<OperationError> error;
  std::string rolled_back_to;

  [[nodiscard]] bool ended() const { return state != OperationState::queued && state != OperationState::running; }
};

}  // namespace k3d
