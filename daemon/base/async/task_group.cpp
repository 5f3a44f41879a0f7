#include "daemon/base/async/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <cstdlib>
#include <exception>
#include <vector>

#include "daemon/base/log.hpp"

namespace k3d {

TaskGroup::TaskGroup(Executor executor) : executor_(executor), idle_(executor) {
  idle_.expires_at(asio::steady_timer::time_point::max());
}

TaskGroup::~TaskGroup() {
  if (!tasks_.empty()) {
    log::error("a task group was destroyed before it was joined");
    std::abort();
  }
}

void TaskGroup::spawn(Task<void> task) {
  const auto entry = tasks_.emplace(tasks_.end());
  auto done = [this, entry](const std::exception_ptr& exception) {
    if (exception) {
      try {
        std::rethrow_exception(exception);
      } catch (const boost::system::system_error& e) {
        // A cancelled task ends by this exception at its next wait: that is how it should end.
        if (e.code() != asio::error::operation_aborted) log::error("a task ended with an exception", {{"what", e.what()}});
      } catch (const std::exception& e) {
        log::error("a task ended with an exception", {{"what", e.what()}});
      } catch (...) {
        log::error("a task ended with an unknown exception");
      }
    }
    tasks_.erase(entry);
    if (tasks_.empty()) idle_.cancel();
  };
  asio::co_spawn(executor_, std::move(task), asio::bind_cancellation_slot(entry->slot(), std::move(done)));
}

void TaskGroup::cancel() {
  // emit() may end a task at once and so erase its entry: walk over a copy of the addresses.
  std::vector<asio::cancellation_signal*> signals;
  for (asio::cancellation_signal& signal : tasks_) signals.push_back(&signal);
  for (asio::cancellation_signal* signal : signals) {
    for (asio::cancellation_signal& live : tasks_) {
      if (&live == signal) {
        live.emit(asio::cancellation_type::terminal);
        break;
      }
    }
  }
}

Task<void> TaskGroup::join() {
  while (!tasks_.empty()) co_await idle_.async_wait(tok);
}

}  // namespace k3d
