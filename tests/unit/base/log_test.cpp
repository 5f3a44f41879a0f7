#include "daemon/base/log.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace k3d {
namespace {

std::string logged(std::string_view message, log::Fields fields) {
  ::testing::internal::CaptureStderr();
  log::info(message, fields);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, one_event_is_one_line) {
  const std::string line = logged("started", {{"name", "a\nb\x1b[31m"}, {"attempt", 3}});
  EXPECT_NE(line.find("info: started name=\"a b [31m\" attempt=3\n"), std::string::npos) << line;
}

TEST(Log, F96_secrets_never_reach_the_log) {
  log::redact("canary-secret-value");
  const std::string line = logged("token", {{"value", "Bearer canary-secret-value"}});
  EXPECT_EQ(line.find("canary"), std::string::npos) << line;
  EXPECT_NE(line.find("[redacted]"), std::string::npos) << line;
}

TEST(LogDeathTest, an_inherited_journal_stream_does_not_swallow_the_lines) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own: the stream is looked at once
  const auto log_below_a_unit = [] {
    ::setenv("JOURNAL_STREAM", "1:1", 1);
    log::info("hello from below");
    std::_Exit(0);
  };
  EXPECT_EXIT(log_below_a_unit(), testing::ExitedWithCode(0), "hello from below");
}

}  // namespace
}  // namespace k3d
