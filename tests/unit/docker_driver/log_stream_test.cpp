// The log of a container over an Engine that breaks off, lies, goes away and comes back.
#include "docker_driver/log_stream.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>

#include "daemon/base/async/sleep.hpp"
#include "tests/unit/docker_driver/fake_engine.hpp"
#include "tests/unit/docker_driver/frames.hpp"
#include "tests/unit/docker_driver/loop.hpp"

namespace k3d::docker {
namespace {

using test::Asked;
using test::chunked;
using test::FakeEngine;
using test::frame;
using test::header;
using test::Reply;
using test::reply;
using test::run;
using test::stamp;

const char* const kExited = R"({"Id":"c","State":{"Status":"exited","ExitCode":0}})";
const char* const kRunning = R"({"Id":"c","State":{"Status":"running"}})";

std::unique_ptr<LogStream> log_at(asio::io_context& loop, const std::string& path, LogRequest request) {
  return open_log(loop.get_executor(), std::make_shared<Api>(http::Endpoint::parse("unix:" + path)), ContainerId("c"),
                  std::move(request));
}

LogRequest following() {
  return {true, {}, std::nullopt};
}

/// Every line up to the end, or up to an error, whose code comes last in [brackets].
Task<std::string> all(LogStream* log) {
  std::string out;
  for (;;) {
    auto line = co_await log->next();
    if (!line) co_return out + "[" + std::string(to_string(line.error().code)) + "]";
    if (!*line) co_return out;
    out += (*line)->text + "|";
  }
}

bool is_log(const Asked& asked) {
  return asked.target.find("/logs?") != std::string::npos;
}
bool follows(const Asked& asked) {
  return asked.target.find("follow=1") != std::string::npos;
}

TEST(DockerLog, F23_connection_that_breaks_off_is_resumed_without_gap_or_repeat) {
  asio::io_context loop;
  int opened = 0;
  FakeEngine engine(loop, [&opened](const Asked& asked) {
    if (!is_log(asked)) return reply(200, kExited);
    if (!follows(asked)) return chunked({frame(stamp(2), "c\n"), frame(stamp(3), "d\n")}, true);
    if (++opened == 1) {
      return chunked({frame(stamp(1), "a\n"), frame(stamp(2), "b\n"), frame(stamp(2), "c\n"), "\1\0"}, false);
    }
    // `since` is inclusive, so these come once more.
    return chunked({frame(stamp(2), "b\n"), frame(stamp(2), "c\n"), frame(stamp(3), "d\n")}, true);
  });
  const auto log = log_at(loop, engine.path(), following());
  EXPECT_EQ(run(loop, all(log.get())), "a|b|c|d|");
  EXPECT_EQ(opened, 2);
  EXPECT_NE(engine.asked()[1].target.find("since=1796081761.900000000"), std::string::npos) << engine.asked()[1].target;
}

TEST(DockerLog, last_line_without_a_newline_is_read_after_the_container_ended) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) {
    if (!is_log(asked)) return reply(200, kExited);
    // As Docker 20.10 does it: the follower gets no unfinished line.
    if (follows(asked)) return chunked({frame(stamp(1), "a\n")}, true);
    return chunked({frame(stamp(1), "a\n"), frame(stamp(2), "GGML_ASSERT failed")}, true);
  });
  const auto log = log_at(loop, engine.path(), following());
  EXPECT_EQ(run(loop, all(log.get())), "a|GGML_ASSERT failed|");
}

TEST(DockerLog, F47_followed_log_that_ends_while_the_container_runs_is_opened_again) {
  asio::io_context loop;
  int opened = 0;
  FakeEngine engine(loop, [&opened](const Asked& asked) {
    if (!is_log(asked)) return reply(200, opened < 2 ? kRunning : kExited);
    if (follows(asked)) ++opened;
    return chunked({frame(stamp(1), "a\n"), opened > 1 ? frame(stamp(2), "b\n") : header(1, 0)}, true);
  });
  const auto log = log_at(loop, engine.path(), following());
  EXPECT_EQ(run(loop, all(log.get())), "a|b|");
  EXPECT_EQ(opened, 2);
}

TEST(DockerLog, F23_quiet_log_outlives_any_number_of_breaks) {
  asio::io_context loop;
  int opened = 0;
  FakeEngine engine(loop, [&opened](const Asked& asked) {
    if (!is_log(asked)) return reply(200, kExited);
    // Seven breaks without a line between; the pauses are 100 ms to 5 s.
    if (++opened <= 7) return chunked({}, false);
    return chunked({frame(stamp(1), "at last\n")}, true);
  });
  const auto log = log_at(loop, engine.path(), following());
  EXPECT_EQ(run(loop, all(log.get())), "at last|");
}

TEST(DockerLog, F48_lying_header_is_retried_and_then_reported) {
  asio::io_context loop;
  int opened = 0;
  FakeEngine engine(loop, [&opened](const Asked&) {
    ++opened;
    return Reply{chunked({frame(stamp(1), "a\n"), header(1, 0xf0000000)}, false).bytes, true};
  });
  const auto log = log_at(loop, engine.path(), following());
  EXPECT_EQ(run(loop, all(log.get())), "a|[protocol]");
  EXPECT_GT(opened, 1);
}

TEST(DockerLog, F21_docker_that_is_away_is_waited_for) {
  asio::io_context loop;
  const std::string path = test::socket_path();
  std::unique_ptr<FakeEngine> engine;
  const auto log = log_at(loop, path, following());
  asio::steady_timer later(loop, milliseconds(50));
  later.async_wait([&loop, &engine, &path](const boost::system::error_code&) {
    const auto answer = [](const Asked& asked) {
      return is_log(asked) ? chunked({frame(stamp(1), "a\n")}, true) : reply(200, kExited);
    };
    engine = std::make_unique<FakeEngine>(loop, answer, "1.41", path);
  });
  EXPECT_EQ(run(loop, all(log.get())), "a|");
}

TEST(DockerLog, without_follow_an_absent_docker_is_an_error) {
  asio::io_context loop;
  const auto log = log_at(loop, test::socket_path(), {});
  EXPECT_EQ(run(loop, all(log.get())), "[docker_unavailable]");
}

TEST(DockerLog, container_that_never_was_is_an_error_and_one_that_went_is_the_end) {
  asio::io_context loop;
  int opened = 0;
  FakeEngine engine(loop, [&opened](const Asked& asked) {
    if (is_log(asked) && ++opened == 1) return chunked({frame(stamp(1), "a\n")}, false);
    return reply(404, R"({"message":"No such container: c"})");
  });
  const auto log = log_at(loop, engine.path(), following());
  EXPECT_EQ(run(loop, all(log.get())), "a|");
  const auto never = log_at(loop, engine.path(), following());
  EXPECT_EQ(run(loop, all(never.get())), "[not_found]");
}

TEST(DockerLog, tail_is_asked_for_once) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) {
    return is_log(asked) ? chunked({frame(stamp(1), "a\n")}, !follows(asked)) : reply(200, kExited);
  });
  const auto log = log_at(loop, engine.path(), {false, {}, 5});
  EXPECT_EQ(run(loop, all(log.get())), "a|");
  EXPECT_NE(engine.asked().at(0).target.find("tail=5"), std::string::npos);
}

TEST(DockerLog, close_ends_a_pending_next) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return Reply{chunked({frame(stamp(1), "a\n")}, false).bytes, true}; });
  const auto log = log_at(loop, engine.path(), following());
  const auto read = [](LogStream* stream) -> Task<std::string> {
    const auto first = co_await stream->next();
    if (!first) co_return first.error().text();
    asio::post(co_await asio::this_coro::executor, [stream] { stream->close(); });
    co_return co_await all(stream);
  };
  EXPECT_EQ(run(loop, read(log.get())), "[cancelled]");
}

TEST(DockerLog, close_ends_a_wait_for_docker) {
  asio::io_context loop;
  const auto log = log_at(loop, test::socket_path(), following());
  asio::post(loop, [&log] { log->close(); });
  EXPECT_EQ(run(loop, all(log.get())), "[cancelled]");
}

}  // namespace
}  // namespace k3d::docker
