// Connections to the engine: a pool of idle ones per loop, newest first. Of one loop.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <list>
#include <memory>
#include <string>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"
#include "daemon/model/launch.hpp"

namespace k3d::proxy {

using Socket = asio::generic::stream_protocol::socket;

struct Upstream {
  Socket socket;
  bool reused = false;

  explicit Upstream(Socket s) : socket(std::move(s)) {}
  /// Ends every operation on it, pending ones too.
  void close();
};
using UpstreamPtr = std::shared_ptr<Upstream>;

class UpstreamPool {
 public:
  /// An idle connection that is still open, or (always if `fresh`) a new one within `limit`. Errors: upstream_failed.
  /// `given_up` outlives the call: once it is true, waiting for the engine to accept ends.
  Task<Result<UpstreamPtr>> take(EngineAddress address, bool fresh, milliseconds limit, const bool& given_up);
  /// For later, if the engine said that it stays open.
  void give_back(const EngineAddress& address, UpstreamPtr upstream);
  void close_idle();
  /// Closes what has been idle for 3 s: llama-server closes idle connections after 5 s.
  void sweep(SteadyTime now);

 private:
  struct Idle {
    std::string key;
    UpstreamPtr upstream;
    SteadyTime since;
  };
  std::list<Idle> idle_;
};

}  // namespace k3d::proxy
