#include "daemon/lifecycle/load_meter.hpp"

#include <gtest/gtest.h>

namespace k3d::lifecycle {
namespace {

const SteadyTime kBegin{};

ProcessIo read(Bytes bytes, std::uint64_t ticks = 0) { return {bytes, 0, 0, ticks}; }

TEST(LoadMeter, tells_the_fraction_and_the_time_left_from_the_rate) {
  LoadMeter meter(1000, kBegin);
  meter.sample(read(100), 0, kBegin + seconds(1));
  meter.sample(read(300), 0, kBegin + seconds(2));
  const LoadView view = meter.view();
  EXPECT_EQ(view.done_bytes, 300U);
  EXPECT_DOUBLE_EQ(view.fraction, 0.3);
  EXPECT_DOUBLE_EQ(view.eta_seconds.value(), 3.5);
}

TEST(LoadMeter, never_says_more_than_all_and_nothing_without_a_total) {
  LoadMeter meter(1000, kBegin);
  meter.sample(read(5000), 0, kBegin);
  EXPECT_DOUBLE_EQ(meter.view().fraction, 1.0);
  EXPECT_FALSE(LoadMeter(0, kBegin).view().eta_seconds);
}

TEST(LoadMeter, silence_counts_from_the_last_byte_tick_or_log_line) {
  LoadMeter meter(1000, kBegin);
  meter.sample(read(10, 5), 7, kBegin + seconds(1));
  meter.sample(read(10, 5), 7, kBegin + seconds(50));
  EXPECT_EQ(meter.silent_for(kBegin + seconds(50)), seconds(49));
  meter.sample(read(10, 6), 7, kBegin + seconds(51));
  EXPECT_EQ(meter.silent_for(kBegin + seconds(51)), seconds(0));
  meter.sample(read(10, 6), 8, kBegin + seconds(60));
  EXPECT_EQ(meter.silent_for(kBegin + seconds(61)), seconds(1));
}

TEST(LoadMeter, what_is_not_known_is_neither_progress_nor_standing_still) {
  LoadMeter meter(1000, kBegin);
  meter.sample(read(400), 7, kBegin + seconds(1));
  meter.sample(std::nullopt, 7, kBegin + seconds(900));
  EXPECT_EQ(meter.silent_for(kBegin + seconds(900)), seconds(0));
  EXPECT_EQ(meter.view().done_bytes, 400U);
}

}  // namespace
}  // namespace k3d::lifecycle
