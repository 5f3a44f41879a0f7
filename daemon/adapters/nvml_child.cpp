#include "daemon/adapters/nvml_child.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "daemon/adapters/child_process.hpp"
#include "daemon/adapters/nvml_library.hpp"

namespace k3d::adapters {
namespace {

/// A call into the driver may hang and so miss the end of the socket: the kernel ends this process with its parent.
bool die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return ::getppid() == parent;
}

bool send_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(kChildSocket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// The number of questions that came; 0: the parent has closed its end.
std::size_t await_questions() {
  for (;;) {
    char piece[256];
    const ssize_t got = ::read(kChildSocket, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    std::size_t lines = 0;
    for (const char c : std::string_view(piece, static_cast<std::size_t>(got))) lines += c == '\n' ? 1 : 0;
    if (lines > 0) return lines;
  }
}

int serve() {
  NvmlLibrary library;
  while (std::size_t questions = await_questions()) {
    for (; questions > 0; --questions) {
      const NvmlReading reading = library.read();
      if (!send_all(line_of_reading(reading) + "\n")) return 0;
      if (!reading.no_driver.empty()) return 0;
    }
  }
  return 0;
}

}  // namespace

std::optional<int> run_as_nvml_child(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != kNvmlChild) return std::nullopt;
  if (!die_with(static_cast<pid_t>(std::atol(argv[2])))) return 0;
  ::prctl(PR_SET_NAME, "k3d-nvml");
  return serve();
}

}  // namespace k3d::adapters
