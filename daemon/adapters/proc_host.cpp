#include "daemon/adapters/proc_host.hpp"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "daemon/adapters/proc_machine.hpp"
#include "daemon/adapters/proc_text.hpp"

namespace k3d::adapters {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> supplementary_groups() {
  std::vector<gid_t> gids(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(gids.size()), gids.data());
  std::set<gid_t> distinct(gids.begin(), gids.begin() + std::max(0, count));
  distinct.erase(::getegid());
  std::vector<std::string> groups;
  for (const gid_t gid : distinct) groups.push_back(std::to_string(gid));
  return groups;
}

/// The driver's folder has one entry per GPU, named by PCI address.
std::vector<std::string> gpu_uuids(const fs::path& folder) {
  std::vector<fs::path> devices;
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    devices.push_back(at->path());
  }
  std::sort(devices.begin(), devices.end());
  std::vector<std::string> uuids;
  for (const fs::path& device : devices) {
    const auto uuid = value_of(proc_text(device / "information"), "GPU UUID");
    // Until something has used a GPU the driver may show question marks. Without one of them, indexes would be wrong.
    if (!uuid || !uuid->starts_with("GPU-") || uuid->find('?') != std::string::npos) return {};
    uuids.push_back(uuid->substr(0, uuid->find_last_not_of(" \t") + 1));
  }
  return uuids;
}

/// What follows the second field of /proc/PID/stat, a name in parentheses that may hold anything.
std::string behind_name(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? std::string() : stat.substr(name_end + 1);
}

std::string name_of(const fs::path& root, int pid) {
  std::string name = proc_text(root / std::to_string(pid) / "comm");
  name.erase(name.find_last_not_of('\n') + 1);
  return name;
}

/// By every process's own word who its parent is: slow, for the rare kernel that keeps no lists of children.
std::vector<int> scan_for_children(const fs::path& root, int parent) {
  std::vector<int> children;
  std::error_code ec;
  for (fs::directory_iterator at(root, ec), end; !ec && at != end; at.increment(ec)) {
    const auto pid = leading_number(at->path().filename().string());
    if (!pid) continue;
    std::istringstream fields(behind_name(proc_text(at->path() / "stat")));
    std::string state;
    int of = 0;
    if (fields >> state >> of && of == parent) children.push_back(static_cast<int>(*pid));
  }
  return children;
}

/// The children of a process that has one thread.
std::vector<int> children_of(const fs::path& root, int parent) {
  const std::string pid = std::to_string(parent);
  const fs::path list = root / pid / "task" / pid / "children";
  std::error_code ec;
  if (!fs::exists(list, ec)) return scan_for_children(root, parent);
  std::istringstream pids(proc_text(list));
  std::vector<int> children;
  for (int child = 0; pids >> child;) children.push_back(child);
  return children;
}

/// utime + stime of /proc/PID/stat.
std::optional<std::uint64_t> cpu_ticks(const std::string& stat) {
  std::istringstream fields(behind_name(stat));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  std::uint64_t user = 0, system = 0;
  fields >> user >> system;
  if (!fields) return std::nullopt;
  return user + system;
}

class Socket {
 public:
  Socket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// Binds to loopback; 0: any port.
  bool bind(std::uint16_t port) {
    const int on = 1;  // what only waits for stray packets of an old connection does not hold the port
    ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && ::listen(fd_, 1) == 0;
  }

  [[nodiscard]] std::uint16_t port() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
    return ntohs(address.sin_port);
  }

 private:
  int fd_;
};

}  // namespace

HostFacts ProcHost::facts() {
  HostFacts facts;
  facts.physical_cores = std::max(1, cpu_of(proc_text(root_ / "cpuinfo")).cores);
  if (const auto kib = number_of(proc_text(root_ / "meminfo"), "MemTotal")) facts.ram_bytes = *kib * kKiB;
  if (const auto kib = number_of(proc_text(root_ / "meminfo"), "MemAvailable")) facts.available_ram_bytes = *kib * kKiB;
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  facts.groups = supplementary_groups();
  facts.boot_id = proc_text(root_ / "sys/kernel/random/boot_id");
  facts.boot_id.erase(facts.boot_id.find_last_not_of('\n') + 1);
  const std::string balancing = proc_text(root_ / "sys/kernel/numa_balancing");
  facts.numa_balancing = !balancing.empty() && balancing[0] != '0';
  facts.gpu_uuids = gpu_uuids(gpus_);
  return facts;
}

int ProcHost::engine_pid(int container_pid) {
  constexpr std::size_t kMostLookedAt = 32;
  if (container_pid <= 0) return 0;
  const std::string first = name_of(root_, container_pid);
  if (first.empty()) return 0;
  // Docker's init comes first, and an image may have a script around the engine: what the script reads is not the load.
  std::vector<int> family{container_pid};
  for (std::size_t i = 0; i < family.size() && i < kMostLookedAt; ++i) {
    if (name_of(root_, family[i]).starts_with("llama-server")) return family[i];
    const std::vector<int> children = children_of(root_, family[i]);
    family.insert(family.end(), children.begin(), children.end());
  }
  const bool has_init = first == "docker-init" || first == "tini";
  return has_init && family.size() > 1 ? family[1] : container_pid;
}

bool ProcHost::is_there(int pid) { return fs::exists(root_ / std::to_string(pid) / "comm"); }

std::uint64_t ProcHost::oom_kills() {
  std::istringstream lines(proc_text(root_ / "vmstat"));
  std::string line;
  constexpr std::string_view kKey = "oom_kill ";
  while (std::getline(lines, line)) {
    if (line.starts_with(kKey)) return std::strtoull(line.c_str() + kKey.size(), nullptr, 10);
  }
  return 0;
}

std::optional<ProcessIo> ProcHost::process_io(int pid) {
  if (pid <= 0) return std::nullopt;
  const fs::path folder = root_ / std::to_string(pid);
  const std::string io = proc_text(folder / "io");
  const auto read_bytes = number_of(io, "rchar"), disk_bytes = number_of(io, "read_bytes");
  const auto ticks = cpu_ticks(proc_text(folder / "stat"));
  if (!read_bytes || !disk_bytes || !ticks) return std::nullopt;
  ProcessIo result;
  result.read_bytes = *read_bytes;
  result.disk_bytes = *disk_bytes;
  result.cpu_ticks = *ticks;
  const std::string status = proc_text(folder / "status");
  result.resident_file = number_of(status, "RssFile").value_or(0) * kKiB;
  result.resident_own = (number_of(status, "RssAnon").value_or(0) + number_of(status, "RssShmem").value_or(0)) * kKiB;
  return result;
}

bool ProcHost::port_taken(std::uint16_t port) {
  Socket socket;
  return !socket.bind(port);
}

std::uint16_t ProcHost::free_port() {
  Socket socket;
  return socket.bind(0) ? socket.port() : 0;
}

}  // namespace k3d::adapters
