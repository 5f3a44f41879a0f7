#include "daemon/adapters/nvml_child.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
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

/// What came since the last line's end.
class Questions {
 public:
  /// The next one, without its end; nothing when the parent has closed its end.
  std::optional<std::string> next() {
    for (;;) {
      if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
        std::string question = received_.substr(0, end);
        received_.erase(0, end + 1);
        return question;
      }
      char piece[256];
      const ssize_t got = ::read(kChildSocket, piece, sizeof piece);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      received_.append(piece, static_cast<std::size_t>(got));
    }
  }

 private:
  std::string received_;
};

int serve() {
  NvmlLibrary library;
  Questions questions;
  while (const std::optional<std::string> question = questions.next()) {
    const bool thorough = *question == kAskReport;
    const NvmlReading reading = library.read(thorough ? NvmlLibrary::Depth::thorough : NvmlLibrary::Depth::figures);
    if (!send_all(line_of_reading(reading) + "\n")) return 0;
    if (!reading.no_driver.empty()) return 0;
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
