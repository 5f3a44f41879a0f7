// Waiting for a newer revision: every waiter is woken by every publication. Of the control loop.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <list>

#include "daemon/base/async/task.hpp"
#include "daemon/base/units.hpp"

namespace k3d::lifecycle {

class Changes {
 public:
  void notify() {
    for (asio::steady_timer* timer : waiting_) timer->cancel();
  }

  /// Returns at the next notify(), at `deadline`, or when the task is cancelled.
  Task<void> wait(SteadyTime deadline) {
    asio::steady_timer timer(co_await asio::this_coro::executor, deadline);
    const auto place = waiting_.insert(waiting_.end(), &timer);
    co_await timer.async_wait(tok);
    waiting_.erase(place);
  }

  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

 private:
  std::list<asio::steady_timer*> waiting_;
};

}  // namespace k3d::lifecycle
