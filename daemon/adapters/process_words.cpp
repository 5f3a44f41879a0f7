#include "daemon/adapters/process_words.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "daemon/base/files.hpp"

namespace k3d::adapters {
namespace {

constexpr std::size_t kIdLength = 64;

bool is_id(std::string_view text) {
  return text.size() == kIdLength && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// "docker-ID.scope" with systemd as the cgroup driver, "ID" alone below /docker or another parent.
std::string_view id_in(std::string_view part) {
  constexpr std::string_view kBefore = "docker-", kAfter = ".scope";
  if (part.starts_with(kBefore) && part.ends_with(kAfter)) {
    part.remove_prefix(kBefore.size());
    part.remove_suffix(kAfter.size());
  }
  return is_id(part) ? part : std::string_view();
}

std::string text_of(int pid, const char* file) {
  return read_file("/proc/" + std::to_string(pid) + "/" + file).value_or("");
}

}  // namespace

std::string container_in(std::string_view cgroup) {
  std::string_view found;
  for (std::size_t at = 0; at < cgroup.size();) {
    const std::size_t end = std::min(cgroup.find_first_of("/\n ", at), cgroup.size());
    // A space: the kernel writes " (deleted)" behind the cgroup of a process that has outlived it.
    if (const std::string_view id = id_in(cgroup.substr(at, end - at)); !id.empty()) found = id;
    at = end + 1;
  }
  return std::string(found);
}

std::optional<ProcessWords> process_words(int pid) {
  ProcessWords words{text_of(pid, "comm"), container_in(text_of(pid, "cgroup"))};
  if (words.name.ends_with('\n')) words.name.pop_back();
  if (words.name.empty() && ::kill(pid, 0) != 0 && errno == ESRCH) return std::nullopt;
  return words;
}

}  // namespace k3d::adapters
