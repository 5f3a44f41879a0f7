// Reading the configuration again: all or nothing, and what runs is not disturbed.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>

#include "api/proxy/proxy.hpp"
#include "daemon/lifecycle/supervisor.hpp"
#include "daemon/model/reload.hpp"

namespace k3d::app {

class Reloader {
 public:
  /// `started`: the settings that the daemon was started with; what needs a restart stays as it is there.
  Reloader(Executor loop, std::shared_ptr<const Settings> started, lifecycle::Supervisor& supervisor,
           proxy::Proxy& proxy, Notifier& notifier);

  /// The daemon serves: this configuration is a good one, unless it is the kept copy of a file that is bad (`trouble`).
  void started(std::string trouble);
  /// Errors: config_invalid, with every mistake; then nothing has changed, and the condition config_invalid says so.
  Task<Result<ReloadOutcome>> reload(std::string asked_by, std::string reason);
  /// In force now.
  [[nodiscard]] const Settings& settings() const { return *in_force_; }
  Task<void> join() { return tasks_.join(); }

 private:
  Task<Result<ReloadOutcome>> take_up(Settings fresh);
  Task<void> keep();
  void say_invalid(const std::string& trouble);

  std::shared_ptr<const Settings> started_, in_force_;
  Settings read_;  ///< last, in its own words: what the next reading is compared with
  lifecycle::Supervisor& supervisor_;
  proxy::Proxy& proxy_;
  Notifier& notifier_;
  asio::thread_pool files_{1};
  TaskGroup tasks_;
};

}  // namespace k3d::app
