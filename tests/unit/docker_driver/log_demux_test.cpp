// Frames to lines: split anywhere, too long, lying, interleaved.
#include "docker_driver/log_demux.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/docker_driver/frames.hpp"

namespace k3d::docker {
namespace {

using test::frame;
using test::header;
using test::kStderr;
using test::stamp;

struct Read {
  Status status;
  std::vector<LogLine> lines;
};

Read read(const std::string& bytes, std::size_t step = std::string::npos, Framing framing = Framing::multiplexed) {
  LogDemux demux(framing);
  Read out;
  for (std::size_t i = 0; i < bytes.size() && out.status; i += std::min(step, bytes.size() - i)) {
    out.status = demux.feed(std::string_view(bytes).substr(i, step), out.lines);
  }
  demux.finish(out.lines);
  return out;
}

TEST(LogDemux, lines_of_both_outputs_with_their_stamps) {
  const Read got = read(frame(stamp(1), "one\n") + frame(stamp(2), "two\n", kStderr));
  ASSERT_EQ(got.lines.size(), 2U);
  EXPECT_EQ(got.lines[0].text, "one");
  EXPECT_EQ(got.lines[0].stamp, stamp(1));
  EXPECT_FALSE(got.lines[0].is_stderr);
  EXPECT_EQ(got.lines[1].text, "two");
  EXPECT_TRUE(got.lines[1].is_stderr);
}

TEST(LogDemux, F42_any_split_of_the_bytes_gives_the_same_lines) {
  const std::string bytes = frame(stamp(1), "main: server is list") + frame(stamp(2), "noise\n", kStderr) +
                            frame(stamp(1), "ening on unix:///x\n") + frame(stamp(3), "\n") + frame(stamp(4), "end");
  for (std::size_t step = 1; step < bytes.size(); ++step) {
    const Read got = read(bytes, step);
    ASSERT_TRUE(got.status);
    ASSERT_EQ(got.lines.size(), 4U) << step;
    EXPECT_EQ(got.lines[0].text, "noise");
    EXPECT_EQ(got.lines[1].text, "main: server is listening on unix:///x");
    EXPECT_EQ(got.lines[2].text, "");
    EXPECT_EQ(got.lines[3].text, "end");
    EXPECT_EQ(got.lines[3].stamp, stamp(4));
  }
}

TEST(LogDemux, F42_ready_line_split_at_the_16_KiB_edge_loses_the_stamp_of_each_part) {
  const std::string first(16'380, 'x');
  const Read got = read(frame(stamp(1), first + "read") + frame(stamp(1, 5), "y\n"));
  ASSERT_EQ(got.lines.size(), 1U);
  EXPECT_EQ(got.lines[0].text, first + "ready");
  EXPECT_EQ(got.lines[0].stamp, stamp(1, 5)) << "the stamp of the last part: from there on the log is read again";
}

TEST(LogDemux, F41_line_without_end_is_cut_and_the_next_one_is_whole) {
  std::string bytes;
  for (int i = 0; i < 64; ++i) bytes += frame(stamp(1), std::string(16'384, 'x'));
  bytes += frame(stamp(1), "\n") + frame(stamp(2), "after\n");
  const Read got = read(bytes, 1000);
  ASSERT_EQ(got.lines.size(), 2U);
  EXPECT_EQ(got.lines[0].text.size(), LogDemux::kMaxLine);
  EXPECT_TRUE(got.lines[0].truncated);
  EXPECT_EQ(got.lines[1].text, "after");
  EXPECT_FALSE(got.lines[1].truncated);
}

TEST(LogDemux, line_of_exactly_the_cap_is_whole) {
  const Read got = read(frame(stamp(1), std::string(LogDemux::kMaxLine, 'x') + "\n"));
  ASSERT_EQ(got.lines.size(), 1U);
  EXPECT_FALSE(got.lines[0].truncated);
}

TEST(LogDemux, F48_lying_headers_are_refused) {
  EXPECT_FALSE(read(header(1, 0xfffffff0)).status);
  EXPECT_FALSE(read(header(7, 10)).status);
  EXPECT_FALSE(read(header(3, 10) + "error from").status) << "Docker's own report of an error";
  EXPECT_FALSE(read("HTTP text instead of frames").status);
  const Read good_then_bad = read(frame(stamp(1), "kept\n") + header(0, 1));
  EXPECT_FALSE(good_then_bad.status);
  EXPECT_EQ(good_then_bad.lines.size(), 1U) << "what came before it counts";
}

TEST(LogDemux, text_that_begins_like_a_stamp_keeps_it_and_a_frame_without_a_stamp_is_text) {
  const Read got =
      read(frame(stamp(1), stamp(9) + " said the engine\n") + header(1, 9) + "no stamp\n" + header(1, 3) + "hi\n");
  ASSERT_EQ(got.lines.size(), 3U);
  EXPECT_EQ(got.lines[0].text, stamp(9) + " said the engine");
  EXPECT_EQ(got.lines[1].text, "no stamp");
  EXPECT_EQ(got.lines[2].text, "hi");
}

TEST(LogDemux, empty_frames_and_several_lines_in_one) {
  const Read got = read(header(1, 0) + frame(stamp(1), "a\nb\n") + header(2, 0));
  ASSERT_EQ(got.lines.size(), 2U);
  EXPECT_EQ(got.lines[1].text, "b");
  EXPECT_EQ(got.lines[1].stamp, stamp(1));
}

TEST(LogDemux, tty_has_no_frames_and_carriage_returns) {
  const std::string bytes = stamp(1) + " one\r\n" + stamp(2) + " two\r\n";
  for (std::size_t step = 1; step < bytes.size(); ++step) {
    const Read got = read(bytes, step, Framing::raw);
    ASSERT_EQ(got.lines.size(), 2U) << step;
    EXPECT_EQ(got.lines[0].text, "one");
    EXPECT_EQ(got.lines[1].text, "two");
    EXPECT_EQ(got.lines[1].stamp, stamp(2));
  }
}

TEST(LogDemux, knows_where_an_unfinished_line_began) {
  LogDemux demux(Framing::multiplexed);
  std::vector<LogLine> lines;
  ASSERT_TRUE(demux.feed(frame(stamp(3), "later", kStderr) + frame(stamp(1), "half"), lines));
  ASSERT_TRUE(demux.feed(frame(stamp(5), "more"), lines));
  EXPECT_EQ(demux.oldest_pending(), stamp(1));
  ASSERT_TRUE(demux.feed(frame(stamp(6), "\n"), lines));
  EXPECT_EQ(demux.oldest_pending(), stamp(3));
}

}  // namespace
}  // namespace k3d::docker
