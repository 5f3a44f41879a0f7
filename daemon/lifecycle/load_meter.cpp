#include "daemon/lifecycle/load_meter.hpp"

#include <algorithm>

namespace k3d::lifecycle {

void LoadMeter::sample(const std::optional<ProcessIo>& io, Bytes log_length, SteadyTime now) {
  const bool moved = !io || io->read_bytes != io_.read_bytes || io->cpu_ticks != io_.cpu_ticks ||
                     io->resident_file != io_.resident_file || log_length != log_length_;
  if (moved) moved_at_ = now;
  log_length_ = log_length;
  if (!io) return;
  io_ = *io;
  points_.push_back({now, std::min(io->read_bytes, total_)});
  while (points_.size() > 2 && now - points_.front().at > seconds(30)) points_.pop_front();
}

LoadView LoadMeter::view() const {
  LoadView view;
  view.total_bytes = total_;
  if (points_.empty() || total_ == 0) return view;
  const Point& first = points_.front();
  const Point& last = points_.back();
  view.done_bytes = last.done;
  view.fraction = static_cast<double>(last.done) / static_cast<double>(total_);
  const double elapsed = std::chrono::duration<double>(last.at - first.at).count();
  if (last.done > first.done && elapsed > 0) {
    const double rate = static_cast<double>(last.done - first.done) / elapsed;
    view.eta_seconds = static_cast<double>(total_ - last.done) / rate;
  }
  return view;
}

seconds LoadMeter::silent_for(SteadyTime now) const { return std::chrono::duration_cast<seconds>(now - moved_at_); }

}  // namespace k3d::lifecycle
