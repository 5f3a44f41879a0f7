// The catalogue of failures: every code with its title, its advice and whether another try makes sense. Data.
// How each is recognised: failure_signs (the log), failure_ends (the exit code); what a setting can do: remedies.
#pragma once

#include <span>
#include <string_view>

namespace k3d::engine {

struct FailureKind {
  std::string_view code;
  std::string_view title;
  std::string_view advice;
  bool retryable = false;
  std::string_view seen = {};  ///< how k3d itself notices it, beside log and exit code; may be empty
};

std::span<const FailureKind> failure_kinds();

/// Nothing if there is none of that code.
const FailureKind* find_kind(std::string_view code);

}  // namespace k3d::engine
