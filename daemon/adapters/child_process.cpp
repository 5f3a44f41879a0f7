#include "daemon/adapters/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "daemon/base/async/sleep.hpp"

namespace k3d::adapters {
namespace {

constexpr std::size_t kLineLimit = 4 * kMiB;
constexpr int kLastWaitMs = 1000;

std::unexpected<Error> refused(const std::string& what, int number) {
  return fail(Code::io_failed, "can't start a process: " + what, {}, std::strerror(number));
}

/// What posix_spawn does between fork and exec. The first call that fails is kept.
class SpawnPlan {
 public:
  explicit SpawnPlan(int socket) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    note(posix_spawnattr_init(&attributes_));
    note(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP));
    note(posix_spawnattr_setsigdefault(&attributes_, &all));
    note(posix_spawnattr_setsigmask(&attributes_, &none));
    note(posix_spawn_file_actions_init(&actions_));
    // The socket first: its own number may be one of those that are taken next.
    note(posix_spawn_file_actions_adddup2(&actions_, socket, kChildSocket));
    note(posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    note(posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0));
    note(posix_spawn_file_actions_addclosefrom_np(&actions_, kChildSocket + 1));
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  /// The errno; 0: `pid` runs.
  int spawn(const std::filesystem::path& program, std::vector<std::string>& words, pid_t& pid) const {
    if (failed_ != 0) return failed_;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return posix_spawn(&pid, program.c_str(), &actions_, &attributes_, argv.data(), environ);
  }

 private:
  void note(int number) {
    if (failed_ == 0) failed_ = number;
  }

  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
  int failed_ = 0;
};

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(Executor loop, const std::filesystem::path& program,
                                                          std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return refused("socketpair", errno);
  pid_t pid = 0;
  const int failed = SpawnPlan(ends[1]).spawn(program, words, pid);
  ::close(ends[1]);
  const int pidfd = failed == 0 ? open_pidfd(pid) : -1;
  if (pidfd >= 0) return std::make_unique<ChildProcess>(std::move(loop), ends[0], pidfd, pid);
  const int number = failed != 0 ? failed : errno;
  ::close(ends[0]);
  if (failed != 0) return refused(program.string(), number);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return refused("pidfd_open", number);
}

ChildProcess::ChildProcess(Executor loop, int socket, int pidfd, int pid)
    : socket_(loop, asio::local::stream_protocol(), socket), exit_(loop, pidfd), pid_(pid) {}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  ::kill(pid_, SIGKILL);
  pollfd wait{exit_.native_handle(), POLLIN, 0};
  ::poll(&wait, 1, kLastWaitMs);
  ended();
}

Task<Status> ChildProcess::send(std::string text) {
  const auto [ec, n] = co_await asio::async_write(socket_, asio::buffer(text), tok);
  if (ec) co_return fail(Code::unreachable, "process " + std::to_string(pid_) + " takes no more lines", {}, ec.message());
  co_return Status();
}

Task<Result<std::string>> ChildProcess::line() {
  for (;;) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      co_return line;
    }
    if (received_.size() > kLineLimit) co_return fail(Code::protocol, "process " + std::to_string(pid_) + " sends no end of line");
    std::array<char, 8192> piece;
    const auto [ec, n] = co_await socket_.async_read_some(asio::buffer(piece), tok);
    if (ec) co_return fail(Code::unreachable, "process " + std::to_string(pid_) + " sends no more", {}, ec.message());
    received_.append(piece.data(), n);
  }
}

Task<void> ChildProcess::end(milliseconds limit) {
  if (ended()) co_return;
  ::kill(pid_, SIGKILL);
  co_await with_deadline(exit_seen(), limit, "the end of a process");
}

Task<Status> ChildProcess::exit_seen() {
  co_await exit_.async_wait(asio::posix::stream_descriptor::wait_read, tok);
  co_return Status();
}

bool ChildProcess::ended() {
  // An error: somebody had this process ignore its children's ends, so the kernel has reaped it.
  if (!reaped_) reaped_ = ::waitpid(pid_, &status_, WNOHANG) != 0;
  return reaped_;
}

std::string ChildProcess::how_it_ended() const {
  if (!reaped_) return "still runs";
  if (WIFSIGNALED(status_)) return "was ended by signal " + std::to_string(WTERMSIG(status_));
  return "ended with status " + std::to_string(WEXITSTATUS(status_));
}

}  // namespace k3d::adapters
