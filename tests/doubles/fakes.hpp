// Stand-ins of the smaller ports: engine client, host, traffic, store, notifier. Scripted by their public members.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "daemon/lifecycle/changes.hpp"
#include "daemon/ports/engine_client.hpp"
#include "daemon/ports/gpu_probe.hpp"
#include "daemon/ports/host_probe.hpp"
#include "daemon/ports/notifier.hpp"
#include "daemon/ports/store.hpp"
#include "daemon/ports/traffic.hpp"

namespace k3d::doubles {

using Calls = std::vector<std::string>;

class FakeEngineClient final : public EngineClient {
 public:
  explicit FakeEngineClient(Calls& calls) : calls_(calls) {}

  std::deque<Result<Health>> first;  ///< the answers of the first calls
  Result<Health> then = Health::ok;  ///< and of all later ones
  std::deque<Status> first_probes;   ///< fine afterwards
  bool probe_hangs = false;
  std::size_t asked = 0;
  std::size_t probed = 0;
  EngineAddress address;  ///< of the last call

  Task<Result<Health>> health(EngineAddress where) override {
    ++asked;
    address = std::move(where);
    if (first.empty()) co_return then;
    const Result<Health> answer = first.front();
    first.pop_front();
    co_return answer;
  }
  Task<Status> probe(EngineAddress where, seconds /*limit*/) override {
    ++probed;
    address = std::move(where);
    calls_.emplace_back("probe");
    while (probe_hangs) co_await changes_.wait(SteadyTime::max());
    if (first_probes.empty()) co_return Status{};
    const Status answer = first_probes.front();
    first_probes.pop_front();
    co_return answer;
  }

 private:
  Calls& calls_;
  lifecycle::Changes changes_;
};

class FakeHost final : public HostProbe {
 public:
  HostFacts host;
  std::optional<ProcessIo> io = ProcessIo{};  ///< of every process
  std::set<std::uint16_t> taken;
  std::set<int> gone;
  std::uint64_t killed_for_memory = 0;

  /// While it blocks, facts() does not return: a file system that hangs.
  void block(bool blocks) {
    blocked_ = blocks;
    blocked_.notify_all();
  }
  /// facts() is being waited for.
  bool hangs() const { return waiting_; }

  HostFacts facts() override {
    waiting_ = blocked_.load();
    blocked_.wait(true);
    waiting_ = false;
    return host;
  }
  int engine_pid(int container_pid) override { return container_pid; }
  bool is_there(int pid) override { return !gone.contains(pid); }
  std::optional<ProcessIo> process_io(int /*pid*/) override { return io; }
  std::uint64_t oom_kills() override { return killed_for_memory; }
  bool port_taken(std::uint16_t port) override { return taken.contains(port); }
  std::uint16_t free_port() override { return 18'080; }

 private:
  std::atomic<bool> blocked_{false}, waiting_{false};
};

class FakeTraffic final : public Traffic {
 public:
  explicit FakeTraffic(Calls& calls) : calls_(calls) {}

  bool busy = false;            ///< a request is in flight: a drain waits for release(), its limit or its cancellation
  ProxyView shown;
  std::vector<seconds> limits;  ///< of the drains
  std::vector<std::uint64_t> cuts;

  void release() {
    busy = false;
    changes_.notify();
  }
  Task<bool> drain(std::uint64_t /*generation*/, seconds limit) override {
    calls_.emplace_back("drain");
    limits.push_back(limit);
    const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
    while (busy && std::chrono::steady_clock::now() < deadline) {
      co_await changes_.wait(deadline);
      const auto state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none) break;
    }
    co_return !busy;
  }
  Task<void> cut(std::uint64_t generation) override {
    calls_.emplace_back("cut");
    cuts.push_back(generation);
    busy = false;
    co_return;
  }
  ProxyView view() const override { return shown; }

 private:
  Calls& calls_;
  lifecycle::Changes changes_;
};

/// Called on the store's own thread; everything here is behind a lock.
class FakeStore final : public Store {
 public:
  void fail_with(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
  }
  /// Values of this key can't be put.
  void refuse(std::string key) {
    const std::lock_guard lock(mutex_);
    refused_ = std::move(key);
  }
  /// While it blocks, next_attempt() does not return.
  void block(bool blocks) {
    blocked_ = blocks;
    blocked_.notify_all();
  }

  std::string desired() {
    const std::lock_guard lock(mutex_);
    return desired_;
  }
  void remember(Operation operation) {
    const std::lock_guard lock(mutex_);
    operations_[operation.id.value] = std::move(operation);
  }
  Operation operation(const OperationId& id) {
    const std::lock_guard lock(mutex_);
    return operations_[id.value];
  }

  Status save_desired(const std::string& profile) override {
    return write([this, &profile] { desired_ = profile; });
  }
  Result<std::string> load_desired() override { return desired(); }
  Result<std::uint64_t> next_attempt() override {
    blocked_.wait(true);
    const std::lock_guard lock(mutex_);
    if (error_) return fail(*error_);
    return ++attempt_;
  }
  Status save_operation(const Operation& operation) override {
    return write([this, &operation] { operations_[operation.id.value] = operation; });
  }
  Result<std::vector<Operation>> load_operations(int limit) override {
    const std::lock_guard lock(mutex_);
    std::vector<Operation> found;
    for (const auto& [id, operation] : operations_) {
      if (found.size() < static_cast<std::size_t>(limit)) found.push_back(operation);
    }
    return found;
  }
  Status put(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    if (error_) return fail(*error_);
    if (key == refused_) return fail(Code::io_failed, "the page of " + key + " is damaged");
    values_[key] = value;
    return {};
  }
  Result<std::optional<std::string>> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }

  Status append_audit(const AuditEntry& entry) override {
    return write([this, &entry] {
      audit_.push_front(entry);
      audit_.front().number = audit_.size();
    });
  }
  Result<std::vector<AuditEntry>> load_audit(int limit, std::uint64_t before) override {
    const std::lock_guard lock(mutex_);
    std::vector<AuditEntry> found;
    for (const AuditEntry& entry : audit_) {
      const bool wanted = before == 0 || entry.number < before;
      if (wanted && found.size() < static_cast<std::size_t>(limit)) found.push_back(entry);
    }
    return found;
  }

 private:
  template <class Write>
  Status write(Write write) {
    const std::lock_guard lock(mutex_);
    if (error_) return fail(*error_);
    write();
    return {};
  }

  std::atomic<bool> blocked_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
  std::string refused_;
  std::string desired_;
  std::uint64_t attempt_ = 0;
  std::map<std::string, Operation> operations_;
  std::map<std::string, std::string> values_;
  std::deque<AuditEntry> audit_;
};

class FakeGpus final : public GpuProbe {
 public:
  Result<std::vector<GpuState>> now = std::vector<GpuState>{};

  Task<Result<std::vector<GpuState>>> read() override { co_return now; }
};

class FakeNotifier final : public Notifier {
 public:
  std::vector<std::string> lines;

  void ready() override { lines.emplace_back("ready"); }
  void stopping() override { lines.emplace_back("stopping"); }
  void status(const std::string& line) override { lines.push_back(line); }
  void watchdog() override {}
  void reloading() override { lines.emplace_back("reloading"); }
  void keep(const std::string& name, int /*socket*/) override { lines.push_back("keep " + name); }
  void forget(const std::string& name) override { lines.push_back("forget " + name); }
};

}  // namespace k3d::doubles
