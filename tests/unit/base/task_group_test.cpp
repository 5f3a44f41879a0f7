#include "daemon/base/async/task_group.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "daemon/base/async/mailbox.hpp"
#include "daemon/base/async/sleep.hpp"

namespace k3d {
namespace {

Task<void> forever(int& ended) {
  co_await sleep_for(milliseconds(3'600'000));
  ++ended;
}

TEST(TaskGroup, cancel_ends_every_task_and_join_waits_for_it) {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor());
  TaskGroup watcher(loop.get_executor());
  int ended = 0;
  bool joined = false;
  group.spawn(forever(ended));
  group.spawn(forever(ended));
  watcher.spawn([](TaskGroup& g, bool& done) -> Task<void> {
    co_await sleep_for(milliseconds(1));
    g.cancel();
    co_await g.join();
    done = true;
  }(group, joined));
  loop.run();
  EXPECT_TRUE(joined);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(group.size(), 0U);
}

TEST(TaskGroup, F17_an_exception_ends_only_its_own_task) {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor());
  bool other = false;
  group.spawn([]() -> Task<void> {
    throw std::runtime_error("bug");
    co_return;
  }());
  group.spawn([](bool& flag) -> Task<void> {
    co_await sleep_for(milliseconds(1));
    flag = true;
  }(other));
  loop.run();
  EXPECT_TRUE(other);
}

TEST(WithDeadline, a_slow_task_is_cancelled_and_a_fast_one_answers) {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor());
  auto slow = [](milliseconds time) -> Task<Result<int>> {
    if (!co_await sleep_for(time)) co_return fail(Code::cancelled, "cancelled");
    co_return 7;
  };
  Result<int> late = 0;
  Result<int> early = 0;
  group.spawn([](auto& make, Result<int>& a, Result<int>& b) -> Task<void> {
    a = co_await with_deadline<int>(make(milliseconds(60'000)), milliseconds(5), "the slow one");
    b = co_await with_deadline<int>(make(milliseconds(1)), milliseconds(60'000), "the fast one");
  }(slow, late, early));
  loop.run();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::timed_out);
  EXPECT_EQ(early.value(), 7);
}

TEST(Mailbox, gives_events_in_order_and_nothing_at_the_deadline) {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor());
  Mailbox<int> mailbox(loop.get_executor());
  std::vector<int> got;
  bool timed_out = false;
  group.spawn([](Mailbox<int>& box, std::vector<int>& out, bool& late) -> Task<void> {
    out.push_back((co_await box.next()).value());
    out.push_back((co_await box.next()).value());
    late = !(co_await box.next(std::chrono::steady_clock::now() + milliseconds(2)));
  }(mailbox, got, timed_out));
  mailbox.put(1);
  mailbox.put(2);
  loop.run();
  EXPECT_EQ(got, (std::vector<int>{1, 2}));
  EXPECT_TRUE(timed_out);
}

}  // namespace
}  // namespace k3d
