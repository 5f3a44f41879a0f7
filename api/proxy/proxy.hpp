// The inference proxy: its loops, who gets a connection, and the traffic as the supervisor sees it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/proxy/enquiries.hpp"
#include "api/proxy/guard.hpp"
#include "api/proxy/listeners.hpp"
#include "api/proxy/worker.hpp"
#include "daemon/base/async/task_group.hpp"
#include "daemon/ports/board.hpp"
#include "daemon/ports/traffic.hpp"

namespace k3d::proxy {

class Proxy : public Traffic {
 public:
  /// `control` is the control loop; every call is made there.
  Proxy(Executor control, Board& board, const Settings& settings, Limits limits = {});
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy() override;

  /// Whom requests that have to wait ask. Before start(); it outlives stop().
  void serve_demands(Demand& demand) { enquiries_->serve_with(demand); }
  /// Binds every address, or takes over the socket of `passed` that listens there, and starts the loops. Connections
  /// are not taken yet: they wait in the sockets. Errors name the address: in use, not allowed, not of this host.
  Status start(Notifier& notifier, const std::vector<PassedSocket>& passed = {});
  /// Takes connections once `known` has ended: while it isn't known what runs, they wait in the sockets.
  void open_after(Task<void> known);
  /// Takes up what a reload changes without a restart: keys' file, expose, max_body_bytes, cors_origins, allowed_hosts.
  /// Errors: config_invalid if the keys can't be read, or if addresses would be left without the keys that they need;
  /// nothing is changed then.
  Status use(const Settings& settings);
  /// Accepts no more, ends the waits, waits up to `limit` for what is in flight, then closes every connection and joins
  /// the loops.
  Task<void> stop(seconds limit);
  /// Returns once every loop has answered: a loop that hangs lets it wait for ever.
  Task<void> answered();

  Task<bool> drain(std::uint64_t generation, seconds limit) override;
  Task<void> cut(std::uint64_t generation) override;
  [[nodiscard]] ProxyView view() const override;

 private:
  void listens(AcceptorPtr acceptor, std::string host);
  Task<void> open(Task<void> known);
  Task<void> accept(AcceptorPtr acceptor);

  Executor control_;
  Board& board_;
  std::vector<std::string> addresses_;
  GuardPost guards_;
  bool keyed_;  ///< the guard in force asks for a key
  Limits limits_;
  TaskGroup tasks_;
  std::shared_ptr<Enquiries> enquiries_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<Listeners> listeners_;
  std::vector<AcceptorPtr> waiting_;  ///< listening, not taken from yet
  std::vector<std::string> hosts_;    ///< under which the sockets are asked
  bool open_ = false;
  std::size_t next_worker_ = 0;
};

}  // namespace k3d::proxy
