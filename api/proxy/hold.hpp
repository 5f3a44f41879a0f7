// A request that waits for its profile, in its loop: counted, in the order of arrival, woken by the lifecycle's answer,
// by its client leaving, or by the loop's end. Not here: whether it has to wait (verdict), and what follows (door).
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <optional>

#include "daemon/base/async/task.hpp"
#include "daemon/base/units.hpp"
#include "daemon/ports/demand.hpp"

namespace k3d::proxy {

class Worker;

class Hold {
 public:
  Hold(Worker& worker, asio::ip::tcp::socket& socket);
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold();

  /// What the lifecycle says; nothing if the client leaves, the loop ends, or `limit` passes first.
  Task<std::optional<Status>> ask(Wanted wanted, SteadyTime until, SteadyTime limit);
  [[nodiscard]] SteadyTime since() const { return since_; }
  /// The client is gone: nobody is there to be answered.
  [[nodiscard]] bool left() const { return left_; }
  /// Has it look again whether it still waits.
  void wake();

 private:
  struct Waiting {
    asio::steady_timer bell;
    std::optional<Status> said;
  };

  Worker& worker_;
  asio::ip::tcp::socket& socket_;
  SteadyTime since_;
  bool left_ = false;
  std::shared_ptr<Waiting> waiting_;  ///< while it asks
  std::list<Hold*>::iterator place_;
  std::uint64_t watch_;
};

}  // namespace k3d::proxy
