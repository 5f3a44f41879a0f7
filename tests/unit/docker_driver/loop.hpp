// Runs one task of a test to its end on a loop, with everything else that the loop has to do.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

#include "daemon/base/async/task.hpp"

namespace k3d::test {

/// The result of `task`. A task that isn't through after a minute fails the test and ends the process: its frame
/// can't be left behind.
template <class T>
T run(asio::io_context& loop, Task<T> task) {
  std::optional<T> out;
  auto boxed = [](Task<T> inner, std::optional<T>& place) -> Task<void> { place.emplace(co_await std::move(inner)); };
  asio::co_spawn(loop, boxed(std::move(task), out), [](const std::exception_ptr& exception) {
    if (exception) std::rethrow_exception(exception);
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!out && std::chrono::steady_clock::now() < end) {
    loop.restart();
    loop.run_one_for(std::chrono::seconds(1));
  }
  if (!out) {
    ADD_FAILURE() << "the task didn't end";
    std::abort();
  }
  return std::move(*out);
}

}  // namespace k3d::test
