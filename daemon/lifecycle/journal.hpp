// What the supervisor writes down, in order, on the store's own thread. A store that fails never stops the
// lifecycle: the trouble is reported, and what could not be written is tried again until it is.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/lifecycle/unwritten.hpp"
#include "daemon/model/overrides.hpp"
#include "daemon/ports/store.hpp"

namespace k3d::lifecycle {

class Journal {
 public:
  /// `on_outcome` is called on `loop` after every try: with an error as long as anything is unwritten, else nothing.
  /// It is never called after the journal's end.
  using OnOutcome = std::function<void(std::optional<Error>)>;
  /// `pause` is the time between two tries of a store that fails, if nothing else is written meanwhile.
  Journal(Executor loop, Store& store, std::uint64_t newest_attempt_folder, milliseconds pause = milliseconds(2000));
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// On the loop. What flush() did not wait for may be lost.
  ~Journal();

  void on_outcome(OnOutcome callback) { *on_outcome_ = std::move(callback); }
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
  /// Waits until everything handed over is written, as far as the store can.
  Task<void> flush();

 private:
  void enqueue(Write write);
  void write_all();

  Executor loop_;
  Store& store_;
  asio::thread_pool thread_{1};
  std::uint64_t newest_attempt_;
  std::uint64_t audited_ = 0;
  milliseconds pause_;
  std::shared_ptr<OnOutcome> on_outcome_ = std::make_shared<OnOutcome>();  ///< outlives the journal on the loop
  // Of the store's thread:
  Unwritten unwritten_;
  asio::steady_timer again_{thread_};
};

}  // namespace k3d::lifecycle
