// A proxy on a port of loopback before a fake engine, with its control loop on a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/proxy/limits.hpp"
#include "daemon/model/settings.hpp"
#include "daemon/model/snapshot.hpp"
#include "daemon/ports/notifier.hpp"
#include "tests/unit/api_http/raw_client.hpp"
#include "tests/unit/api_proxy/fake_demand.hpp"
#include "tests/unit/api_proxy/fake_engine.hpp"

namespace k3d::test {

/// Two profiles: "batch" (model kimi-k3, alias "big"), which is active, and "fast" (alias "small"), which isn't.
Settings two_profiles();

class Rig {
 public:
  explicit Rig(FakeEngine::Script script = answer_ok, Settings settings = two_profiles(), proxy::Limits limits = {},
               std::vector<PassedSocket> passed = {});
  ~Rig();

  [[nodiscard]] FakeEngine& engine() { return engine_; }
  [[nodiscard]] FakeDemand& demand();
  /// What the proxy had the service manager do: "keep NAME", "forget NAME".
  [[nodiscard]] std::vector<std::string> notified() const;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] RawClient connect(int receive_buffer = 0) const { return RawClient::tcp(port_, receive_buffer); }
  /// Connects, sends, and reads one answer.
  [[nodiscard]] Reply ask(const std::string& bytes) const;

  /// Publishes the ready snapshot under `generation`, changed by `change`.
  void publish(std::uint64_t generation, const std::function<void(Snapshot&)>& change = {});
  bool drain(std::uint64_t generation, seconds limit);
  void cut(std::uint64_t generation);
  [[nodiscard]] ProxyView view();
  Status use(const Settings& settings);
  /// Whether every loop answered.
  bool answered();
  void stop(seconds limit);

 private:
  struct Daemon;

  void end();

  Settings settings_;
  FakeEngine engine_;
  std::unique_ptr<Daemon> daemon_;
  std::uint16_t port_ = 0;
  bool stopped_ = false;
};

}  // namespace k3d::test
