// Reading on where the log broke off: no line twice, none lost, whatever is read again.
#include "docker_driver/log_cursor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/docker_driver/frames.hpp"

namespace k3d::docker {
namespace {

using test::stamp;

LogLine line(const std::string& text, const std::string& at, bool is_stderr = false) {
  LogLine out;
  out.text = text;
  out.stamp = at;
  out.is_stderr = is_stderr;
  return out;
}

/// Reads `log` up to `broken` lines, then again from the beginning: the texts that came through.
std::string texts(const std::vector<LogLine>& log, std::size_t broken) {
  LogCursor cursor;
  std::string out;
  for (std::size_t i = 0; i < broken; ++i) {
    if (cursor.admit(log[i])) out += log[i].text;
  }
  cursor.reopened(std::nullopt);
  for (const LogLine& item : log) {
    if (cursor.admit(item)) out += item.text;
  }
  return out;
}

TEST(LogCursor, lines_with_equal_stamps_are_neither_lost_nor_repeated) {
  const std::vector<LogLine> log{line("a", stamp(1)), line("b", stamp(2)), line("c", stamp(2)), line("d", stamp(2)),
                                 line("e", stamp(3))};
  for (std::size_t broken = 0; broken <= log.size(); ++broken) EXPECT_EQ(texts(log, broken), "abcde") << broken;
}

TEST(LogCursor, outputs_whose_stamps_are_out_of_order) {
  // stderr was stamped first and written second.
  const std::vector<LogLine> log{line("a", stamp(1, 20)), line("b", stamp(1, 10), true), line("c", stamp(1, 30), true),
                                 line("d", stamp(1, 40))};
  for (std::size_t broken = 0; broken <= log.size(); ++broken) {
    std::string got = texts(log, broken);
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, "abcd") << broken;
  }
}

TEST(LogCursor, resumes_a_little_before_the_last_line) {
  LogCursor cursor;
  EXPECT_FALSE(cursor.since());
  EXPECT_TRUE(cursor.admit(line("a", "2026-11-30T23:36:40.250000001Z")));
  cursor.reopened(std::nullopt);
  EXPECT_EQ(cursor.since(), "1796081800.150000001");
}

TEST(LogCursor, resumes_where_an_unfinished_line_began) {
  LogCursor cursor;
  EXPECT_TRUE(cursor.admit(line("a", stamp(40), true)));
  cursor.reopened(stamp(1));
  EXPECT_EQ(cursor.since(), "1796081761.000000000");
}

TEST(LogCursor, since_is_only_what_came_after) {
  LogCursor cursor(stamp(2));
  EXPECT_EQ(cursor.since(), "1796081762.000000000");
  EXPECT_FALSE(cursor.admit(line("old", stamp(1))));
  EXPECT_FALSE(cursor.admit(line("same", stamp(2))));
  EXPECT_FALSE(cursor.admit(line("same", stamp(2), true)));
  EXPECT_TRUE(cursor.admit(line("new", stamp(3))));
}

TEST(LogCursor, tail_is_not_widened_by_a_resumed_reading) {
  LogCursor cursor("", true);
  EXPECT_TRUE(cursor.admit(line("last", stamp(2))));
  cursor.reopened(std::nullopt);
  EXPECT_FALSE(cursor.admit(line("before the tail", stamp(1), true)));
}

TEST(LogCursor, clock_that_steps_back_loses_nothing_while_the_connection_holds) {
  LogCursor cursor;
  EXPECT_TRUE(cursor.admit(line("a", stamp(9))));
  EXPECT_TRUE(cursor.admit(line("b", stamp(1))));
  EXPECT_TRUE(cursor.admit(line("c", stamp(2))));
}

TEST(LogCursor, last_line_sent_again_at_a_rotation_is_a_repeat) {
  LogCursor cursor;
  EXPECT_TRUE(cursor.admit(line("a", stamp(1))));
  EXPECT_FALSE(cursor.admit(line("a", stamp(1))));
  EXPECT_TRUE(cursor.admit(line("b", stamp(1)))) << "another line of that stamp";
  EXPECT_TRUE(cursor.admit(line("a", stamp(1), true))) << "and another output";
}

TEST(LogCursor, file_sent_again_at_a_rotation_is_a_repeat_and_what_follows_is_not) {
  LogCursor cursor;
  for (int i = 1; i < 9; ++i) EXPECT_TRUE(cursor.admit(line("x", stamp(i))));
  for (int i = 3; i < 9; ++i) EXPECT_FALSE(cursor.admit(line("x", stamp(i)))) << i;
  EXPECT_TRUE(cursor.admit(line("x", stamp(9))));
  EXPECT_FALSE(cursor.admit(line("x", stamp(5)))) << "a third time";
}

TEST(LogCursor, line_without_a_stamp_always_counts) {
  LogCursor cursor;
  cursor.reopened(std::nullopt);
  EXPECT_TRUE(cursor.admit(line("a", "")));
}

}  // namespace
}  // namespace k3d::docker
