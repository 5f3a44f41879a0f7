// Writes that the store has not taken yet, in the order they were asked for. Of one thread. When they are tried again
// is the journal's matter.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d::lifecycle {

struct Write {
  std::string key;  ///< of two writes of one key only the newer counts
  std::function<Status()> perform;
  bool history = false;  ///< what happened, not what should be: the first to be given up
};

class Unwritten {
 public:
  /// So much of history waits at most; the rest has as many keys as there are settings, and is never given up.
  static constexpr std::size_t kMostHistory = 500;

  /// `patience`: once a write has failed, the others are tried for this long, since a store may take time to refuse.
  explicit Unwritten(milliseconds patience = milliseconds(1000)) : patience_(patience) {}

  void add(Write write);
  /// Tries each once, the oldest first; what fails stays. The last error, or nothing when none is left.
  std::optional<Error> write_all();
  [[nodiscard]] std::size_t size() const { return writes_.size(); }

 private:
  milliseconds patience_;
  std::vector<Write> writes_;
};

}  // namespace k3d::lifecycle
