// Port: where the supervisor publishes and everyone else reads. Thread-safe.
#pragma once

#include <functional>
#include <mutex>

#include "daemon/model/snapshot.hpp"

namespace k3d {

class Board {
 public:
  [[nodiscard]] SnapshotPtr read() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  void publish(SnapshotPtr next) {
    const std::lock_guard lock(mutex_);
    current_ = std::move(next);
  }

 private:
  mutable std::mutex mutex_;
  SnapshotPtr current_ = std::make_shared<const Snapshot>();
};

}  // namespace k3d
