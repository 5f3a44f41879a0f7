#include "api/control/log_cursor.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "daemon/lifecycle/attempt_folder.hpp"

namespace k3d::api {
namespace {

using Lines = std::vector<std::string>;

class LogCursorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() / ("k3d-log-cursor-" + std::to_string(::getpid()));
    std::filesystem::remove(file_);
    add("one\ntwo\nthree\n");
  }
  void TearDown() override { std::filesystem::remove(file_); }
  void add(const std::string& text) const { std::ofstream(file_, std::ios::app | std::ios::binary) << text; }

  std::filesystem::path file_;
};

TEST_F(LogCursorTest, reads_on_from_where_it_was) {
  LogCursor cursor(file_, false);
  EXPECT_EQ(cursor.next(2), (Lines{"one", "two"}));
  EXPECT_EQ(cursor.next(2), (Lines{"three"}));
  add("fo");
  EXPECT_EQ(cursor.next(2), Lines{}) << "half a line is not one";
  add("ur\n");
  EXPECT_EQ(cursor.next(2), (Lines{"four"}));
}

TEST_F(LogCursorTest, begins_at_the_last_lines) {
  EXPECT_EQ(LogCursor::last(file_, 2).next(10), (Lines{"two", "three"}));
  EXPECT_EQ(LogCursor::last(file_, 3).next(10), (Lines{"one", "two", "three"}));
  EXPECT_EQ(LogCursor::last(file_, 99).next(10), (Lines{"one", "two", "three"}));
  EXPECT_EQ(LogCursor::last(file_, 0).next(10), Lines{});
}

TEST_F(LogCursorTest, finds_the_last_lines_over_many_pieces) {
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "line " + std::to_string(i) + "\n";
  add(many);
  LogCursor cursor = LogCursor::last(file_, 60'000);
  EXPECT_EQ(cursor.next(1), (Lines{"line 40000"}));
}

TEST_F(LogCursorTest, begins_at_the_end) {
  LogCursor cursor(file_, true);
  add("four\n");
  EXPECT_EQ(cursor.next(10), (Lines{"four"}));
}

TEST_F(LogCursorTest, F41_a_line_without_end_is_cut_and_the_next_one_is_whole) {
  LogCursor cursor(file_, true);
  add(std::string(1'000'000, 'x'));
  Lines lines;
  for (int i = 0; i < 10; ++i) {
    for (std::string& line : cursor.next(100)) lines.push_back(std::move(line));
  }
  add("\nnext\n");
  for (int i = 0; i < 3; ++i) {
    for (std::string& line : cursor.next(100)) lines.push_back(std::move(line));
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), 64U * 1024);
  EXPECT_EQ(lines[1], "next");
}

TEST_F(LogCursorTest, a_bounded_log_goes_on_without_gap_and_a_new_reader_begins_behind_the_hole) {
  std::string many;
  for (int i = 0; i < 300'000; ++i) many += "line " + std::to_string(i) + "\n";
  add(many);
  LogCursor follower(file_, true);
  lifecycle::bound_log(file_, kMiB);
  add("after\n");
  EXPECT_EQ(follower.next(10), (Lines{"after"}));
  const Lines first = LogCursor(file_, false).next(1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(first[0].starts_with("line ")) << "no zeros of the hole, no half line";
}

TEST_F(LogCursorTest, a_log_that_started_over_is_read_from_its_new_beginning) {
  LogCursor cursor(file_, true);
  std::ofstream(file_, std::ios::trunc) << "new\n";
  EXPECT_EQ(cursor.next(10), (Lines{"new"}));
}

}  // namespace
}  // namespace k3d::api
