#include "daemon/base/units.hpp"

#include <gtest/gtest.h>

namespace k3d {
namespace {

TEST(Units, reads_si_and_iec_sizes) {
  EXPECT_EQ(parse_bytes("4096").value(), 4096U);
  EXPECT_EQ(parse_bytes("256MiB").value(), 256U << 20U);
  EXPECT_EQ(parse_bytes("1.5 GB").value(), 1'500'000'000U);
  EXPECT_EQ(parse_bytes("2TiB").value(), Bytes{2} << 40U);
}

TEST(Units, refuses_what_is_not_a_size) {
  for (const char* bad : {"", "GB", "-1", "1e3", "inf", "nan", "12 parsecs", "1GB ", "9999999TiB", "0x10"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(Units, writes_si) {
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(999'999), "1.0 MB");
  EXPECT_EQ(format_bytes(711'067'773'664), "711.1 GB");
}

TEST(Units, times_round_trip) {
  const WallTime time = parse_time("2026-11-30T22:37:57.123456789Z").value();
  EXPECT_EQ(format_time(time), "2026-11-30T22:37:57.123Z");
  EXPECT_EQ(parse_time("2026-12-01T00:37:57.123456789+02:00").value(), time);
}

TEST(Units, refuses_bad_times_and_dockers_zero_time) {
  for (const char* bad : {"", "2026-11-30", "2026-11-30T22:37:57", "2026-11-30T22:37:57+2", "0001-01-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_time(bad)) << bad;
  }
}

TEST(Units, durations_in_words) {
  EXPECT_EQ(format_duration(seconds(12)), "12 s");
  EXPECT_EQ(format_duration(seconds(200)), "3 min 20 s");
  EXPECT_EQ(format_duration(seconds(3725)), "1 h 2 min");
}

}  // namespace
}  // namespace k3d
