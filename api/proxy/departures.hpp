// Tells when a client leaves while nobody reads from it: by FIN, by half-closing or by RST, also behind bytes that stay
// unread. An epoll of its own that asks for nothing else, since waiting for a socket to be readable ends at once while
// there is something to read. A FIN behind more than the kernel takes in unread can't be seen by anybody. Of one loop.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <map>

#include "daemon/base/async/task.hpp"

namespace k3d::proxy {

class Departures {
 public:
  explicit Departures(asio::io_context& loop);

  /// Calls `left` once when the client behind `socket` leaves, or has left. The number is for forget().
  std::uint64_t watch(int socket, std::function<void()> left);
  /// `socket` may be closed already.
  void forget(std::uint64_t number, int socket);
  /// Until it is cancelled.
  Task<void> run();

 private:
  void collect();

  asio::posix::stream_descriptor epoll_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::function<void()>> watched_;
};

}  // namespace k3d::proxy
