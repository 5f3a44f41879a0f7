#include "daemon/adapters/proc_servers.hpp"

#include <algorithm>
#include <sstream>

#include "daemon/adapters/proc_text.hpp"
#include "daemon/adapters/process_words.hpp"

namespace k3d::adapters {
namespace {

namespace fs = std::filesystem;

struct Named {
  int pid = 0;
  std::string name;
};

std::vector<Named> processes(const fs::path& proc) {
  std::vector<Named> found;
  std::error_code ec;
  for (fs::directory_iterator at(proc, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string text = at->path().filename().string();
    if (text.find_first_not_of("0123456789") != std::string::npos) continue;
    found.push_back({static_cast<int>(leading_number(text).value_or(0)), std::string(trimmed(proc_text(at->path() / "comm")))});
  }
  return found;
}

/// Mounted with hidepid, /proc shows a user only its own processes.
bool hides_processes(const fs::path& proc) { return proc_text(proc / "1/comm").empty(); }

bool has_ended(const fs::path& process) {
  return value_of(proc_text(process / "status"), "State").value_or("").starts_with('Z');
}

/// "Max locked memory         8388608              unlimited            bytes": the second is the hard limit.
bool memlock_is_unlimited(const std::string& limits) {
  std::istringstream lines(limits);
  constexpr std::string_view kKey = "Max locked memory";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kKey)) continue;
    std::istringstream words(line.substr(kKey.size()));
    std::string soft, hard;
    words >> soft >> hard;
    return hard == "unlimited";
  }
  return false;
}

bool may_raise_limits(const std::string& status) {
  constexpr unsigned kSysResource = 24;
  const auto effective = value_of(status, "CapEff");
  return effective && (std::strtoull(effective->c_str(), nullptr, 16) >> kSysResource & 1U) != 0;
}

}  // namespace

Known<std::vector<ForeignServer>> read_servers(const fs::path& root) {
  const fs::path proc = root / "proc";
  if (hides_processes(proc)) return unknown("/proc hides other people's processes from k3d's user (hidepid)");
  std::vector<ForeignServer> servers;
  for (const Named& process : processes(proc)) {
    const fs::path folder = proc / std::to_string(process.pid);
    if (!process.name.starts_with("llama-server") || has_ended(folder)) continue;
    servers.push_back({process.pid, container_in(proc_text(folder / "cgroup"))});
  }
  std::sort(servers.begin(), servers.end(), [](const ForeignServer& a, const ForeignServer& b) { return a.pid < b.pid; });
  return servers;
}

Known<MemlockFacts> read_memlock(const fs::path& root) {
  const fs::path proc = root / "proc";
  const std::vector<Named> all = processes(proc);
  for (const char* name : {"containerd", "dockerd"}) {
    const auto found = std::find_if(all.begin(), all.end(), [name](const Named& process) { return process.name == name; });
    if (found == all.end()) continue;
    const fs::path folder = proc / std::to_string(found->pid);
    const Known<std::string> limits = known_text(folder / "limits");
    if (!limits || limits->empty()) return unknown("the limits of " + found->name + " are closed to k3d's user");
    return MemlockFacts{found->name, memlock_is_unlimited(*limits), may_raise_limits(proc_text(folder / "status"))};
  }
  return unknown("neither containerd nor dockerd is among the processes that k3d's user sees");
}

}  // namespace k3d::adapters
