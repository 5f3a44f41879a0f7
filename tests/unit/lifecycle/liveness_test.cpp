#include "daemon/lifecycle/liveness.hpp"

#include <gtest/gtest.h>

namespace k3d::lifecycle {
namespace {

struct Watch {
  SteadyTime now{};
  LivenessMeter meter{now, seconds(60)};
  ProcessIo io;

  /// `seconds` of looking every 5 s at an engine that uses `ticks` a second.
  Liveness pass(int duration, std::optional<Health> health, std::uint64_t in_flight, std::uint64_t ticks, Bytes log = 0) {
    Liveness last = Liveness::fine;
    for (int at = 0; at < duration; at += 5) {
      now += seconds(5);
      io.cpu_ticks += 5 * ticks;
      last = meter.sample({health, io, log, in_flight}, now);
    }
    return last;
  }
};

TEST(LivenessMeter, F46_silence_while_it_computes_is_no_trouble) {
  Watch watch;
  EXPECT_EQ(watch.pass(600, std::nullopt, 8, 90), Liveness::fine);
  EXPECT_EQ(watch.pass(600, Health::loading, 8, 90), Liveness::fine) << "503 for a while after 200";
}

TEST(LivenessMeter, F31_silence_while_nothing_moves_is_unresponsive_but_never_dead) {
  Watch watch;
  EXPECT_EQ(watch.pass(55, std::nullopt, 1, 0), Liveness::fine);
  EXPECT_EQ(watch.pass(3600, std::nullopt, 1, 0), Liveness::unresponsive);
  EXPECT_EQ(watch.pass(5, Health::ok, 0, 0), Liveness::fine) << "as soon as it answers";
}

TEST(LivenessMeter, health_that_is_fine_while_requests_wait_and_nothing_moves_is_suspicious) {
  Watch watch;
  EXPECT_EQ(watch.pass(60, Health::ok, 2, 90), Liveness::fine);
  EXPECT_EQ(watch.pass(120, Health::ok, 2, 1), Liveness::suspicious) << "answering /health alone takes a tick";
  watch.meter.answered(watch.now);
  EXPECT_EQ(watch.pass(5, Health::ok, 2, 1), Liveness::fine);
  EXPECT_EQ(watch.pass(600, Health::ok, 0, 0), Liveness::fine) << "nobody asks it for anything";
}

TEST(LivenessMeter, a_log_that_grows_is_movement) {
  Watch watch;
  for (Bytes log = 0; log < 100; ++log) ASSERT_EQ(watch.pass(5, Health::ok, 2, 0, log), Liveness::fine);
}

TEST(LivenessMeter, a_socket_where_nobody_listens_for_a_minute_is_death) {
  Watch watch;
  EXPECT_EQ(watch.pass(60, Health::refused, 0, 90), Liveness::fine);
  EXPECT_EQ(watch.pass(5, Health::refused, 0, 90), Liveness::dead);
  Watch again;
  again.pass(55, Health::refused, 0, 90);
  again.pass(5, Health::ok, 0, 90);
  EXPECT_EQ(again.pass(60, Health::refused, 0, 90), Liveness::fine) << "counted anew";
}

TEST(LivenessMeter, a_process_that_can_not_be_looked_at_counts_as_moving) {
  LivenessMeter meter{SteadyTime{}, seconds(60)};
  for (int at = 5; at < 600; at += 5) {
    ASSERT_EQ(meter.sample({std::nullopt, std::nullopt, 0, 3}, SteadyTime{} + seconds(at)), Liveness::fine);
  }
}

}  // namespace
}  // namespace k3d::lifecycle
