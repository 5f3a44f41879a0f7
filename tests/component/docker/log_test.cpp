// Logs of the real Engine: floods, lines without an end, followers that lose their connection.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <fstream>

#include "tests/component/docker/cut_relay.hpp"
#include "tests/component/docker/engine.hpp"

namespace k3d::docker::real {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

Bytes resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  Bytes size = 0;
  Bytes resident = 0;
  statm >> size >> resident;
  return resident * static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
}

/// The number that a line begins with.
std::int64_t number_of(const LogLine& line) {
  std::int64_t out = -1;
  const std::size_t from = line.text.find_first_not_of('0');
  if (from == std::string::npos || line.text[from] == ' ') return 0;
  std::from_chars(line.text.data() + from, line.text.data() + line.text.size(), out);
  return out;
}

struct Flood {
  std::int64_t lines = 0, last = -1, gaps = 0, repeats = 0;
  Bytes bytes = 0, peak = 0;
};

Task<Result<Flood>> drink(LogStream* log) {
  Flood out;
  for (;;) {
    const auto line = co_await log->next();
    if (!line) co_return fail(line.error());
    if (!*line) co_return out;
    const std::int64_t number = number_of(**line);
    if (number <= out.last) ++out.repeats;
    if (number > out.last + 1) out.gaps += number - out.last - 1;
    out.last = std::max(out.last, number);
    out.bytes += (*line)->text.size();
    if (++out.lines % 1000 == 0) out.peak = std::max(out.peak, resident_bytes());
  }
}

LogRequest following() {
  LogRequest out;
  out.follow = true;
  return out;
}

class Logs : public RealEngine {
 protected:
  /// `count` lines, each numbered and of `width` characters more.
  static std::string numbered(int count, int width) {
    return "awk 'BEGIN { p = sprintf(\"%" + std::to_string(width) + "s\", \"\"); for (i = 0; i < " +
           std::to_string(count) + "; i++) printf \"%09d %s\\n\", i, p }'";
  }
};

TEST_F(Logs, follow_ends_with_the_container_and_has_every_line) {
  const ContainerId id = create_and_start(spec("for i in 1 2 3; do echo $i; sleep 0.2; done; printf 'no newline'"));
  EXPECT_EQ(read(id, following()).text(), "1\n2\n3\nno newline\n");
  EXPECT_EQ(read(id, {}).text(), "1\n2\n3\nno newline\n") << "and once more from the beginning";
  LogRequest tail;
  tail.tail = 2;
  EXPECT_EQ(read(id, tail).text(), "3\nno newline\n");
}

TEST_F(Logs, since_gives_only_what_came_after_that_line) {
  const ContainerId id = create_and_start(spec("seq 1 200"));
  wait(id);
  const ReadLog whole = read(id, {});
  ASSERT_EQ(whole.lines.size(), 200U);
  LogRequest rest;
  rest.since = whole.lines[99].stamp;
  const ReadLog later = read(id, rest);
  ASSERT_EQ(later.lines.size(), 100U);
  EXPECT_EQ(later.lines.front().text, "101");
  rest.since = whole.lines.back().stamp;
  EXPECT_TRUE(read(id, rest).lines.empty());
}

TEST_F(Logs, F23_cut_again_and_again_it_has_no_gap_and_no_repeat) {
  unsigned opened = 0;
  CutRelay relay([&opened](const std::string& request) -> std::size_t {
    if (request.find("/logs?") == std::string::npos || opened >= 60) return CutRelay::kWhole;
    // Odd numbers: cut within heads, headers, stamps and lines. The first few are so short that nothing comes.
    ++opened;
    return opened <= 3 ? 50 * opened : 20'003 + 977 * (opened % 13);
  });
  // Both outputs at once: stamps rise within each alone. Paced, since what is resumed begins 100 ms earlier.
  const std::string paced =
      "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); [ $((i % 20)) -gt 0 ] || sleep 0.01; done";
  const ContainerId id = create_and_start(spec("(" + paced + ") & (" + paced + ") >&2; wait"));
  const auto behind = driver_at(relay.path());
  const auto log = behind->logs(id, following());
  const auto got = run(read_all(log.get()));
  ASSERT_TRUE(got) << got.error().text();
  std::array<int, 2> next{};
  for (const LogLine& line : got->lines) ASSERT_EQ(line.text, std::to_string(next[line.is_stderr ? 1 : 0]++));
  EXPECT_EQ(next[0], 3000);
  EXPECT_EQ(next[1], 3000);
  EXPECT_GE(relay.cuts(), 10);
}

TEST_F(Logs, F40_flood_is_read_in_flat_memory_without_repeats_and_to_its_end) {
  const int count = 120'000;
  const ContainerId id = create(spec(numbered(count, 1000)));
  const auto log = docker_->logs(id, following());
  const Bytes before = resident_bytes();
  ASSERT_TRUE(run(docker_->start(id)));
  const auto flood = run(drink(log.get()), seconds(200));
  ASSERT_TRUE(flood) << flood.error().text();
  // Docker keeps 3 files of 10 MB: what it rotates away before it was read is lost there, not here. Left to itself
  // Docker 20.10 also sends whole files twice and ends before the last line.
  EXPECT_EQ(flood->repeats, 0);
  EXPECT_EQ(flood->last, count - 1) << "the end is seen";
  EXPECT_EQ(flood->lines + flood->gaps, count);
  EXPECT_GT(flood->bytes, 20U * 1000 * 1000);
  // The sanitizers keep freed memory back.
  if (!kSanitized) EXPECT_LT(flood->peak, before + 16 * kMiB);
}

TEST_F(Logs, F41_megabyte_without_a_newline_is_cut_and_the_next_line_is_whole) {
  const ContainerId id =
      create_and_start(spec("echo before; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo after"));
  for (const LogRequest& request : {following(), LogRequest{}}) {
    const ReadLog log = read(id, request);
    ASSERT_EQ(log.lines.size(), 3U);
    EXPECT_EQ(log.lines[0].text, "before");
    EXPECT_EQ(log.lines[1].text, std::string(64 * kKiB, 'x'));
    EXPECT_TRUE(log.lines[1].truncated);
    EXPECT_EQ(log.lines[2].text, "after");
    EXPECT_FALSE(log.lines[2].truncated);
  }
}

TEST_F(Logs, F42_line_over_several_frames_is_one_line_without_stamps_in_it) {
  // Docker cuts at 16 KiB: here in the midst of the words that say "ready".
  const ContainerId id =
      create_and_start(spec("head -c 16375 /dev/zero | tr '\\0' y; echo 'server is listening on unix:///x' ; "
                            "head -c 16384 /dev/zero | tr '\\0' z >&2; echo >&2; printf '\\033[32mready\\033[0m\\n'"));
  wait(id);
  std::vector<std::string> out;
  for (const LogLine& line : read(id, {}).lines) {
    if (!line.is_stderr) out.push_back(line.text);
    if (line.is_stderr) EXPECT_EQ(line.text, std::string(16'384, 'z'));
  }
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0], std::string(16'375, 'y') + "server is listening on unix:///x");
  EXPECT_EQ(out[1], "\033[32mready\033[0m");
}

TEST_F(Logs, closing_a_quiet_log_ends_its_reader) {
  const ContainerId id = create_and_start(spec("exec sleep 600"));
  const auto log = docker_->logs(id, following());
  asio::steady_timer later(loop_, milliseconds(300));
  later.async_wait([&log](const boost::system::error_code&) { log->close(); });
  const auto line = run(log->next(), seconds(20));
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, Code::cancelled);
}

TEST_F(Logs, of_a_container_that_is_removed_while_followed_ends) {
  const ContainerId id = create_and_start(spec("echo up; exec sleep 600"));
  const auto log = docker_->logs(id, following());
  const auto first = run(log->next());
  ASSERT_TRUE(first && *first);
  ASSERT_TRUE(run(docker_->remove(id)));
  const auto end = run(log->next(), seconds(30));
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_FALSE(*end);
}

}  // namespace
}  // namespace k3d::docker::real
