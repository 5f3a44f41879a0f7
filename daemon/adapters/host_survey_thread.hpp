// A thread for one look at the host at a time, which may hang for ever in the kernel (a dead network disk): then it is left
// behind, and no other is started beside it. Not here: what it looks at.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "daemon/base/async/task.hpp"
#include "daemon/base/units.hpp"
#include "daemon/model/host_report.hpp"

namespace k3d::adapters {

class SurveyThread {
 public:
  /// Fills in its part of a report. Touches nothing but its own copies, and throws nothing.
  using Look = std::function<HostReport()>;

  explicit SurveyThread(Executor loop);
  SurveyThread(const SurveyThread&) = delete;
  SurveyThread& operator=(const SurveyThread&) = delete;
  /// Does not wait for a look that goes on.
  ~SurveyThread();

  /// Nothing happens while the last look still goes on: its result is then that of this one, too.
  void begin(Look look);
  /// What the look found; nothing if it takes beyond `until`.
  Task<std::optional<HostReport>> result(SteadyTime until);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<asio::steady_timer> arrived_;
};

}  // namespace k3d::adapters
