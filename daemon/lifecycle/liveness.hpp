// Pure: whether an engine that served still lives, from what its /health, its process, its log and its requests show.
#pragma once

#include <optional>

#include "daemon/ports/engine_client.hpp"
#include "daemon/ports/host_probe.hpp"

namespace k3d::lifecycle {

enum class Liveness {
  fine,
  suspicious,    ///< requests wait and nothing moves: a completion would tell
  unresponsive,  ///< /health is silent and nothing moves
  dead,          ///< nobody listens any more although the process is there
};

class LivenessMeter {
 public:
  LivenessMeter(SteadyTime begin, milliseconds patience) : patience_(patience), moved_at_(begin), sampled_at_(begin) {}

  struct Sample {
    std::optional<Health> health;  ///< nothing: no answer in time
    std::optional<ProcessIo> io;   ///< nothing: unknown, which counts as moving
    Bytes log_length = 0;
    std::uint64_t in_flight = 0;   ///< requests that wait for it
  };

  /// A busy engine may leave /health unanswered for long: while its log or its CPU time moves that is no trouble.
  Liveness sample(const Sample& sample, SteadyTime now);
  /// A completion was answered: it moves.
  void answered(SteadyTime now) { moved_at_ = now; }

 private:
  bool moves(const Sample& sample, SteadyTime now) const;

  milliseconds patience_;
  SteadyTime moved_at_, sampled_at_;
  std::optional<SteadyTime> refused_since_;
  std::optional<ProcessIo> io_;
  Bytes log_length_ = 0;
};

}  // namespace k3d::lifecycle
