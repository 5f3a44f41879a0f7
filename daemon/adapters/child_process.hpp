// A child process that is spoken to by lines, over a socket that is its descriptor 3. It inherits no other descriptor
// but standard error, no signal disposition or mask, and has a process group of its own. Not here: what it does, and that
// it dies with its parent (it asks for that itself, since only the kernel can do it in time).
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d::adapters {

/// The child's end of the socket.
inline constexpr int kChildSocket = 3;

class ChildProcess {
 public:
  /// Error io_failed. `words` begins with the name of the program; the environment is the caller's.
  static Result<std::unique_ptr<ChildProcess>> start(Executor loop, const std::filesystem::path& program,
                                                     std::vector<std::string> words);
  ChildProcess(Executor loop, int socket, int pidfd, int pid);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills it and waits for its end, at most a second.
  ~ChildProcess();

  Task<Status> send(std::string text);
  /// The next line, without its end. Errors: unreachable (it closed its end or died), protocol (over 4 MiB).
  Task<Result<std::string>> line();
  /// Kills it; comes back when it has ended, or after `limit`.
  Task<void> end(milliseconds limit);

  /// Whether it has ended; then it is reaped, too.
  bool ended();
  /// "was ended by signal 9", "ended with status 1"; "still runs".
  [[nodiscard]] std::string how_it_ended() const;
  [[nodiscard]] int pid() const { return pid_; }

 private:
  Task<Status> exit_seen();

  asio::local::stream_protocol::socket socket_;
  asio::posix::stream_descriptor exit_;  ///< a pidfd: readable when the process has ended
  int pid_;
  bool reaped_ = false;
  int status_ = 0;
  std::string received_;
};

}  // namespace k3d::adapters
