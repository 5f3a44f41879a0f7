// Blocking work on a pool, result back on the loop that asked.
#pragma once

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/base/async/task.hpp"

namespace k3d {

/// Runs `work` on `pool` and resumes where the caller ran, which must be a loop of one thread. `work` must not touch
/// the loop's objects. Cancelling the caller does not cut `work` short: the caller ends at its next wait after it.
template <class Work>
Task<std::invoke_result_t<Work>> offload(asio::thread_pool& pool, Work work) {
  // Not co_spawn on the pool: Boost 1.81 emits a cancellation there by a bare pointer, which the loop frees meanwhile.
  struct Answer {
    asio::steady_timer arrived;
    std::optional<std::invoke_result_t<Work>> value;
  };
  const Executor loop = co_await asio::this_coro::executor;
  const auto answer = std::make_shared<Answer>(Answer{asio::steady_timer(loop, asio::steady_timer::time_point::max()), {}});
  asio::post(pool, [loop, keep = answer, job = std::move(work)]() mutable {
    asio::post(loop, [keep = std::move(keep), value = std::optional<std::invoke_result_t<Work>>(job())]() mutable {
      keep->value = std::move(value);
      keep->arrived.cancel();
    });
  });
  while (!answer->value) co_await answer->arrived.async_wait(asio::bind_cancellation_slot(asio::cancellation_slot(), tok));
  co_return std::move(*answer->value);
}

}  // namespace k3d
