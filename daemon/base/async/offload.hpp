// Blocking work on a pool, result back on the loop that asked.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

#include "daemon/base/async/task.hpp"

namespace k3d {

/// Runs `work` on `pool` and resumes where the caller ran. `work` must not touch the loop's objects.
template <class Work>
Task<std::invoke_result_t<Work>> offload(asio::thread_pool& pool, Work work) {
  auto run = [](Work job) -> Task<std::optional<std::invoke_result_t<Work>>> {
    std::optional<std::invoke_result_t<Work>> out(job());
    co_return out;
  };
  auto result = co_await asio::co_spawn(pool, run(std::move(work)), asio::use_awaitable);
  co_return std::move(*result);
}

}  // namespace k3d
