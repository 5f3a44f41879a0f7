#include "daemon/base/log.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace k3d
