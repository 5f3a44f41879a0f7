// One daemon per instance and per state folder. Both locks die with the process: no stale pid file can lie.
#pragma once

#include <filesystem>
#include <string>

#include "daemon/base/result.hpp"

namespace k3d::app {

class InstanceLock {
 public:
  /// Binds the abstract socket @k3d.INSTANCE. Error instance_taken names the holder's pid.
  static Result<InstanceLock> take_instance(const std::string& instance);
  /// Locks STATE/lock (flock). Errors: instance_taken with the holder's pid; io_failed, disk_full.
  static Result<InstanceLock> take_state(const std::filesystem::path& state);

  InstanceLock(InstanceLock&& other) noexcept;
  InstanceLock& operator=(InstanceLock&&) = delete;
  ~InstanceLock();

 private:
  explicit InstanceLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace k3d::app
