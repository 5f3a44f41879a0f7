#include "daemon/adapters/proc_machine.hpp"

#include <sys/timex.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "daemon/adapters/proc_text.hpp"

namespace k3d::adapters {
namespace {

namespace fs = std::filesystem;

bool has_word(const std::string& text, const std::string& word) {
  return (" " + text + " ").find(" " + word + " ") != std::string::npos;
}

Bytes kib_of(const std::string& meminfo, std::string_view key) { return number_of(meminfo, key).value_or(0) * kKiB; }

int nodes_with_memory(const fs::path& folder) {
  int nodes = 0;
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("node") || name.find_first_of("0123456789", 4) != 4) continue;
    // "Node 0 MemTotal: 123 kB"
    std::istringstream words(proc_text(at->path() / "meminfo"));
    std::string word;
    Bytes total = 0;
    while (words >> word && word != "MemTotal:") {}
    if (words >> total && total > 0) ++nodes;
  }
  return nodes;
}

/// sysctl's files in the order in which they are applied: by name, and of one name that of the first folder counts.
std::vector<fs::path> sysctl_files(const fs::path& root) {
  std::map<std::string, fs::path> by_name;
  for (const char* folder : {"etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d"}) {
    std::error_code ec;
    for (fs::directory_iterator at(root / folder, ec), end; !ec && at != end; at.increment(ec)) {
      if (at->path().extension() == ".conf") by_name.try_emplace(at->path().filename().string(), at->path());
    }
  }
  std::vector<fs::path> files;
  for (const auto& [name, path] : by_name) files.push_back(path);
  files.push_back(root / "etc/sysctl.conf");
  return files;
}

/// The value of the last line "KEY = VALUE" or "KEY=VALUE".
std::optional<std::string> last_setting(const std::string& text, std::string_view key) {
  std::optional<std::string> value;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string_view rest = trimmed(line);
    if (rest.starts_with('-')) rest.remove_prefix(1);
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || trimmed(rest.substr(0, equals)) != key) continue;
    value = trimmed(rest.substr(equals + 1));
  }
  return value;
}

std::optional<bool> balancing_after_boot(const fs::path& root) {
  std::optional<bool> on;
  const std::string words = std::string(trimmed(proc_text(root / "proc/cmdline")));
  if (has_word(words, "numa_balancing=disable")) on = false;
  if (has_word(words, "numa_balancing=enable")) on = true;
  for (const fs::path& file : sysctl_files(root)) {
    const std::string text = proc_text(file);
    for (const char* key : {"kernel.numa_balancing", "kernel/numa_balancing"}) {
      if (const auto value = last_setting(text, key)) on = *value != "0";
    }
  }
  return on;
}

}  // namespace

CpuFacts cpu_of(const std::string& cpuinfo) {
  CpuFacts cpu;
  std::set<std::pair<std::string, std::string>> cores;
  std::set<std::string> packages;
  std::string package, line;
  std::istringstream lines(cpuinfo);
  while (std::getline(lines, line)) {
    if (line.starts_with("processor")) ++cpu.threads;
    if (const auto id = value_of(line, "physical id")) packages.insert(package = *id);
    if (const auto id = value_of(line, "core id")) cores.emplace(package, *id);
    if (const auto name = value_of(line, "model name")) cpu.model = trimmed(*name);
    if (const auto flags = value_of(line, "flags"); flags && !cpu.avx512) {
      cpu.avx512 = has_word(*flags, "avx512f");
      cpu.amx = has_word(*flags, "amx_tile");
    }
  }
  cpu.sockets = std::max<int>(1, static_cast<int>(packages.size()));
  cpu.cores = cores.empty() ? cpu.threads : static_cast<int>(cores.size());
  return cpu;
}

Known<CpuFacts> read_cpu(const fs::path& root) {
  const Known<std::string> text = known_text(root / "proc/cpuinfo");
  if (!text) return unknown(text.error());
  return cpu_of(*text);
}

Known<MemoryFacts> read_memory(const fs::path& root) {
  const Known<std::string> text = known_text(root / "proc/meminfo");
  if (!text) return unknown(text.error());
  if (!number_of(*text, "MemTotal") || !number_of(*text, "MemAvailable")) return unknown("/proc/meminfo tells no sizes");
  MemoryFacts memory;
  memory.total_bytes = kib_of(*text, "MemTotal");
  memory.available_bytes = kib_of(*text, "MemAvailable");
  memory.swap_total_bytes = kib_of(*text, "SwapTotal");
  memory.swap_used_bytes = memory.swap_total_bytes - std::min(memory.swap_total_bytes, kib_of(*text, "SwapFree"));
  memory.huge_pages_bytes = kib_of(*text, "Hugetlb");
  const Known<std::string> swappiness = known_text(root / "proc/sys/vm/swappiness");
  if (!swappiness) {
    memory.swappiness = unknown(swappiness.error());
  } else if (const auto value = leading_number(*swappiness)) {
    memory.swappiness = static_cast<int>(*value);
  }
  return memory;
}

Known<NumaFacts> read_numa(const fs::path& root) {
  NumaFacts numa;
  numa.nodes = nodes_with_memory(root / "sys/devices/system/node");
  if (numa.nodes == 0) return unknown("/sys/devices/system/node tells no nodes");
  const Known<std::string> balancing = known_text(root / "proc/sys/kernel/numa_balancing");
  if (balancing) {
    numa.balancing = trimmed(*balancing) != "0";
  } else if (std::error_code ec; !fs::exists(root / "proc/sys/kernel/numa_balancing", ec) && !ec) {
    numa.balancing = false;  // a kernel built without it
    numa.balancing_after_boot = false;
    return numa;
  } else {
    numa.balancing = unknown(balancing.error());
  }
  numa.balancing_after_boot = balancing_after_boot(root);
  return numa;
}

Known<DriverModule> read_driver_module(const fs::path& version) {
  const Known<std::string> text = known_text(version);
  if (!text) return unknown(text.error());
  const auto line = value_of(*text, "NVRM version");
  if (!line) return unknown(version.string() + " tells no version");
  DriverModule module;
  module.open = line->find("Open Kernel Module") != std::string::npos;
  // "NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build …": the first word that is a version
  std::istringstream words(*line);
  for (std::string word; words >> word && module.version.empty();) {
    const bool digits = word.find_first_not_of("0123456789.") == std::string::npos;
    if (digits && word.find('.') != std::string::npos) module.version = word;
  }
  return module;
}

Known<bool> read_clock(const fs::path& root) {
  std::error_code ec;
  if (fs::exists(root / "run/systemd/timesync/synchronized", ec)) return true;
  timex state{};
  const int answer = ::adjtimex(&state);  // asks only: no mode is set
  if (answer < 0) return unknown("this process may not ask the kernel");
  return answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

}  // namespace k3d::adapters
