// Port: the inference traffic as the supervisor sees it. Implemented by api/proxy over its loops.
// Admission is by generation: a request belongs to the generation of the snapshot it was admitted under.
#pragma once

#include "daemon/base/async/task.hpp"
#include "daemon/base/units.hpp"
#include "daemon/model/snapshot.hpp"

namespace k3d {

class Traffic {
 public:
  virtual ~Traffic() = default;
  /// Returns once every loop has seen the published snapshot and no request admitted under a generation below
  /// `generation` is in flight (true), or when `limit` has passed (false).
  virtual Task<bool> drain(std::uint64_t generation, seconds limit) = 0;
  /// Closes every upstream connection of requests admitted below `generation`, waiting ones too, and idle ones;
  /// returns once they are closed.
  virtual Task<void> cut(std::uint64_t generation) = 0;
  [[nodiscard]] virtual ProxyView view() const = 0;
};

}  // namespace k3d
