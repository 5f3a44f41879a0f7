// The catalogue's data: one row per way to recognise a failure, the most specific first.
#pragma once

#include <span>
#include <string_view>

namespace k3d::engine {

/// When a row can hold.
enum class Moment { loading, serving, any };

/// Which lines of the log can show it. A bare line counts only if it begins with the pattern.
enum class Lines { error, warning, bare, error_or_bare };

struct FailureRow {
  std::string_view code;
  std::string_view title;
  std::string_view advice;
  bool retryable = false;
  Moment moment = Moment::loading;
  Lines lines = Lines::error;
  std::string_view pattern;          ///< text with * for anything in between; empty: not recognised by the log
  std::string_view also;             ///< further text that the same line must hold
  bool after_out_of_memory = false;  ///< holds only if the log also shows that memory ran out
};

std::span<const FailureRow> failure_table();

}  // namespace k3d::engine
