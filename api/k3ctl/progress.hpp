// How the progress of an operation looks: one live line on a terminal, a few plain ones elsewhere. Pure.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "daemon/base/units.hpp"
#include "daemon/model/operation.hpp"

namespace k3d::cli {

/// "load  [#####.....]  45 %  320.1 GB of 711.1 GB  1.2 GB/s  5 min 20 s left", at most `width` characters; the bar
/// gives way first. What is unknown is left out.
std::string progress_line(const Operation& operation, int width);

/// The rate of bytes as seen from here, over the last 10 s, for operations that don't tell theirs.
class RateMeter {
 public:
  /// Fills in the rate, and the time left if it is unknown too, as soon as two looks a second apart differ.
  void complete(Progress& progress, SteadyTime now);

 private:
  struct Look {
    SteadyTime at;
    Bytes done;
  };
  std::string step_;
  std::deque<Look> looks_;
};

/// What is worth a line of a log: a new step, and every tenth of its way.
class PlainProgress {
 public:
  /// The line for this state of the operation; nothing if it was said already.
  std::optional<std::string> next(const Operation& operation);

 private:
  std::string step_;
  int tenth_ = -1;
};

}  // namespace k3d::cli
