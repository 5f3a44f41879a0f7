// Mailbox<E>: one reader waits for "an event, or the deadline", and never loses one. Of one loop; post from
// other threads through asio::post on its executor.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <optional>

#include "daemon/base/async/task.hpp"

namespace k3d {

template <class E>
class Mailbox {
 public:
  explicit Mailbox(const Executor& executor) : wake_(executor) { wake_.expires_at(asio::steady_timer::time_point::max()); }

  void put(E event) {
    events_.push_back(std::move(event));
    wake_.cancel();
  }

  /// The next event; nothing when `deadline` passed or the waiting task was cancelled.
  Task<std::optional<E>> next(asio::steady_timer::time_point deadline = asio::steady_timer::time_point::max()) {
    if (events_.empty()) {
      wake_.expires_at(deadline);
      co_await wake_.async_wait(tok);
    }
    if (events_.empty()) co_return std::nullopt;
    std::optional<E> event(std::move(events_.front()));
    events_.pop_front();
    co_return event;
  }

  [[nodiscard]] bool empty() const { return events_.empty(); }

 private:
  std::deque<E> events_;
  asio::steady_timer wake_;
};

}  // namespace k3d
