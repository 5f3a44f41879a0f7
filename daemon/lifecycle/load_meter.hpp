// Pure: how far a load is, when it will be done, and how long nothing has moved.
#pragma once

#include <deque>
#include <optional>

#include "daemon/model/snapshot.hpp"
#include "daemon/ports/host_probe.hpp"

namespace k3d::lifecycle {

class LoadMeter {
 public:
  LoadMeter(Bytes total, SteadyTime begin) : total_(total), moved_at_(begin) {}

  /// What the engine's process has read so far (rchar, with --load-mode none the weights' bytes) and its log's length.
  /// Without figures of the process nothing counts as standing still.
  void sample(const std::optional<ProcessIo>& io, Bytes log_length, SteadyTime now);
  /// The rate is that of the last 30 seconds.
  [[nodiscard]] LoadView view() const;
  /// How long neither bytes, nor CPU time, nor the log has moved.
  [[nodiscard]] seconds silent_for(SteadyTime now) const;

 private:
  struct Point {
    SteadyTime at;
    Bytes done;
  };

  Bytes total_;
  SteadyTime moved_at_;
  ProcessIo io_;
  Bytes log_length_ = 0;
  std::deque<Point> points_;
};

}  // namespace k3d::lifecycle
