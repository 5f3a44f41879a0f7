// TaskGroup: every coroutine belongs to one, and a group is joined before it dies. Of one loop; not thread-safe.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>

#include "daemon/base/async/task.hpp"

namespace k3d {

class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  /// Aborts if a task still runs: join first.
  ~TaskGroup();

  /// Starts `task`. An exception that leaves it is a bug: logged, and the group goes on.
  void spawn(Task<void> task);
  /// Asks every task to end (terminal cancellation). They end at their next wait.
  void cancel();
  /// Waits until no task runs.
  Task<void> join();
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }

 private:
  Executor executor_;
  std::list<asio::cancellation_signal> tasks_;
  asio::steady_timer idle_;
};

}  // namespace k3d
