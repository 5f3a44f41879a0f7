// What the supervisor writes down, in order, on the store's own thread. A store that fails never stops the
// lifecycle: the trouble is reported, writing goes on with the next change.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/model/overrides.hpp"
#include "daemon/ports/store.hpp"

namespace k3d::lifecycle {

class Journal {
 public:
  /// `on_outcome` is called on `loop` after every write: with the error, or nothing when it was written.
  using OnOutcome = std::function<void(std::optional<Error>)>;
  Journal(Executor loop, Store& store, std::uint64_t newest_attempt_folder);

  void on_outcome(OnOutcome callback) { on_outcome_ = std::move(callback); }
  void save_desired(std::string profile);
  void save(Operation operation);
  void save(AuditEntry entry);
  Task<Result<std::vector<AuditEntry>>> load_audit(int limit, std::uint64_t before);
  void save_overrides(std::string profile, Overrides set);
  Task<Overrides> load_overrides(std::string profile);
  void put(std::string key, std::string value);
  Task<std::optional<std::string>> get(std::string key);
  /// Higher than any before, also when the store can't say.
  Task<std::uint64_t> next_attempt();
  Task<Result<std::vector<Operation>>> load_operations(int limit);
  Task<std::string> load_desired();
  /// Waits until everything handed over is written.
  Task<void> flush();

 private:
  void enqueue(std::function<Status()> write);

  Executor loop_;
  Store& store_;
  asio::thread_pool thread_{1};
  std::uint64_t newest_attempt_;
  OnOutcome on_outcome_;
};

}  // namespace k3d::lifecycle
