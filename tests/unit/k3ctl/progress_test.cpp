#include "api/k3ctl/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/k3ctl/present.hpp"
#include "api/k3ctl/safe_text.hpp"

namespace k3d::cli {
namespace {

Operation loading(std::optional<double> fraction) {
  Operation operation;
  operation.state = OperationState::running;
  operation.profile = "batch";
  operation.progress = {"load", fraction, 320'100'000'000, 711'100'000'000, 1.2e9, 320.0};
  return operation;
}

TEST(ProgressLine, shows_step_bar_percent_bytes_rate_and_rest) {
  EXPECT_EQ(progress_line(loading(0.45), 120),
            "load  [##################......................]   45 %  320.1 GB of 711.1 GB  1.2 GB/s  5 min 20 s left");
}

TEST(ProgressLine, never_is_wider_than_the_terminal) {
  for (int width = 1; width < 140; ++width) {
    for (const auto fraction : {std::optional<double>(), std::optional(0.0), std::optional(1.0), std::optional(7.0)}) {
      EXPECT_LE(display_width(progress_line(loading(fraction), width)), static_cast<std::size_t>(width)) << width;
    }
  }
}

TEST(ProgressLine, leaves_out_what_is_unknown) {
  Operation operation;
  operation.profile = "batch";
  EXPECT_EQ(progress_line(operation, 80), "queued");
  operation.state = OperationState::running;
  EXPECT_EQ(progress_line(operation, 80), "activate batch");
  operation.progress.step = "drain";
  EXPECT_EQ(progress_line(operation, 80), "drain");
}

TEST(ProgressLine, does_not_say_100_percent_before_it_is_done) {
  EXPECT_THAT(progress_line(loading(0.9999), 100), testing::HasSubstr(" 99 %"));
}

TEST(ProgressLine, F49_a_step_is_made_safe) {
  Operation operation = loading(0.5);
  operation.progress.step = "\x1b[2J";
  EXPECT_THAT(progress_line(operation, 100), testing::Not(testing::HasSubstr("\x1b")));
}

TEST(PlainProgress, says_each_step_once_and_each_tenth) {
  PlainProgress plain;
  Operation operation = loading(std::nullopt);
  operation.progress = {};
  operation.progress.step = "drain";
  EXPECT_EQ(plain.next(operation), "drain");
  EXPECT_FALSE(plain.next(operation));
  int lines = 0;
  for (int i = 0; i <= 100; ++i) {
    Operation next = loading(i / 100.0);
    if (plain.next(next)) ++lines;
  }
  EXPECT_EQ(lines, 11);
}

TEST(RateMeter, tells_rate_and_rest_from_what_it_saw) {
  RateMeter meter;
  const SteadyTime begin{};
  Progress progress;
  progress.step = "load";
  progress.total_bytes = 1000;
  const auto look = [&meter, &progress, begin](int at, Bytes done) {
    progress.done_bytes = done;
    progress.rate_bytes_per_second = progress.eta_seconds = std::nullopt;
    meter.complete(progress, begin + seconds(at));
    return progress.rate_bytes_per_second;
  };
  EXPECT_FALSE(look(0, 0));
  EXPECT_EQ(look(2, 20), 10);
  EXPECT_EQ(progress.eta_seconds, 98);
  for (int at = 3; at <= 40; ++at) look(at, 20 + 20 * static_cast<Bytes>(at - 2));
  EXPECT_EQ(progress.rate_bytes_per_second, 20);  // the slow beginning is forgotten
  EXPECT_FALSE(look(41, 5));                      // another load
  progress.step = "other";
  EXPECT_FALSE(look(60, 500));
}

TEST(RateMeter, believes_the_daemon_first) {
  RateMeter meter;
  Progress progress;
  for (int at = 0; at < 3; ++at) {
    progress.done_bytes = static_cast<Bytes>(at) * 100;
    progress.rate_bytes_per_second = 7;
    meter.complete(progress, SteadyTime{} + seconds(at * 5));
  }
  EXPECT_EQ(progress.rate_bytes_per_second, 7);
}

TEST(Present, durations_and_rates) {
  EXPECT_EQ(duration_text(0.2), "under 1 s");
  EXPECT_EQ(duration_text(-5), "under 1 s");
  EXPECT_EQ(duration_text(61.9), "1 min 1 s");
  EXPECT_EQ(rate_text(1.25e9), "1.2 GB/s");
  EXPECT_EQ(local_time(std::string("not a time")), "not a time");
}

}  // namespace
}  // namespace k3d::cli
