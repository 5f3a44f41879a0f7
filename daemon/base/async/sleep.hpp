// Waiting for time to pass, and a deadline over any Result-returning task.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d {

/// False if the wait was cancelled.
inline Task<bool> sleep_for(milliseconds duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  const auto [ec] = co_await timer.async_wait(tok);
  co_return !ec;
}

/// Runs `task`; when `limit` passes first it is cancelled and the result is `timed_out`, naming `what`.
template <class T>
Task<Result<T>> with_deadline(Task<Result<T>> task, milliseconds limit, std::string what) {
  auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, limit);
  // The result goes through an optional: co_spawn wants a default-constructible type.
  auto boxed = [](Task<Result<T>> inner) -> Task<std::optional<Result<T>>> {
    std::optional<Result<T>> out(co_await std::move(inner));
    co_return out;
  };
  auto group = asio::experimental::make_parallel_group(
      asio::co_spawn(executor, boxed(std::move(task)), asio::deferred), timer.async_wait(asio::deferred));
  auto [order, exception, value, timer_ec] =
      co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  if (order[0] == 1 && !timer_ec) {
    co_return fail(Code::timed_out, what + " took longer than " + std::to_string(limit.count()) + " ms");
  }
  if (exception) std::rethrow_exception(exception);
  if (!value) co_return fail(Code::cancelled, what + " was cancelled");
  co_return std::move(*value);
}

}  // namespace k3d
