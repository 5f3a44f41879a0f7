#include "daemon/app/instance_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/base/files.hpp"

namespace k3d::app {
namespace {

/// The pid of whoever listens there, as the kernel tells it; 0 if it doesn't.
int holder_of(const sockaddr_un& address, socklen_t length) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
                     ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (fd >= 0) ::close(fd);
  return known ? peer.pid : 0;
}

std::unexpected<Error> taken(const std::string& what, const std::string& pid) {
  return fail(Code::instance_taken, what + " is in use by another k3d" + (pid.empty() ? "" : ", pid " + pid),
              "stop that one, or give this one an instance and a state of its own");
}

}  // namespace

Result<InstanceLock> InstanceLock::take_instance(const std::string& instance) {
  const std::string name = "k3d." + instance;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(&address.sun_path[1], name.data(), name.size());  // a leading NUL makes it abstract
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  InstanceLock lock(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (lock.fd_ < 0) return fail(Code::io_failed, "can't make a socket", {}, std::strerror(errno));
  if (::bind(lock.fd_, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno != EADDRINUSE) return fail(Code::io_failed, "can't bind @" + name, {}, std::strerror(errno));
    const int pid = holder_of(address, length);
    return taken("the instance \"" + instance + "\"", pid > 0 ? std::to_string(pid) : "");
  }
  ::listen(lock.fd_, 8);
  return lock;
}

Result<InstanceLock> InstanceLock::take_state(const std::filesystem::path& state) {
  if (Status made = make_folder(state); !made) return fail(made.error());
  const std::filesystem::path file = state / "lock";
  InstanceLock lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.fd_ < 0) return fail(file_error("open", file, errno));
  if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(file_error("lock", file, errno));
    return taken("the state " + state.string(), read_file(file, 64).value_or(""));
  }
  // The pid is for people; the lock is what counts. On a full disk the note is missing, the lock is not.
  const std::string pid = std::to_string(::getpid());
  const bool noted = ::ftruncate(lock.fd_, 0) == 0 && ::pwrite(lock.fd_, pid.data(), pid.size(), 0) > 0;
  static_cast<void>(noted);
  return lock;
}

InstanceLock::InstanceLock(InstanceLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

InstanceLock::~InstanceLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace k3d::app
