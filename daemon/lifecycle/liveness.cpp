#include "daemon/lifecycle/liveness.hpp"

namespace k3d::lifecycle {
namespace {

/// Of /proc/PID/stat, 100 a second: 5 % of a core. Answering /health alone takes less.
constexpr double kBusyTicksPerSecond = 5;

}  // namespace

bool LivenessMeter::moves(const Sample& sample, SteadyTime now) const {
  if (!sample.io || !io_ || sample.log_length != log_length_) return true;
  const double elapsed = std::chrono::duration<double>(now - sampled_at_).count();
  return static_cast<double>(sample.io->cpu_ticks - io_->cpu_ticks) >= kBusyTicksPerSecond * elapsed;
}

Liveness LivenessMeter::sample(const Sample& sample, SteadyTime now) {
  const bool idle = sample.health == Health::ok && sample.in_flight == 0;
  if (idle || moves(sample, now)) moved_at_ = now;
  io_ = sample.io;
  log_length_ = sample.log_length;
  sampled_at_ = now;
  if (sample.health == Health::refused) {
    if (!refused_since_) refused_since_ = now;
    return now - *refused_since_ >= patience_ ? Liveness::dead : Liveness::fine;
  }
  refused_since_.reset();
  if (now - moved_at_ < patience_) return Liveness::fine;
  return sample.health == Health::ok ? Liveness::suspicious : Liveness::unresponsive;
}

}  // namespace k3d::lifecycle
