// Engines that k3d has not started and that will get in its way.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/doctor/checks.hpp"
#include "daemon/doctor/verdict.hpp"

namespace k3d::doctor {
namespace {

bool holds_gpu(const HostReport& host, int pid) {
  if (!host.gpus) return false;
  return std::any_of(host.gpus->gpus.begin(), host.gpus->gpus.end(), [pid](const GpuFacts& gpu) {
    const auto& processes = gpu.state.processes;
    return std::any_of(processes.begin(), processes.end(), [pid](const GpuProcess& p) { return p.pid == pid; });
  });
}

std::string words_of(const ForeignServer& server) {
  if (server.container.empty()) return fmt::format("pid {}", server.pid);
  return fmt::format("pid {} in container {}", server.pid, server.container.substr(0, 12));
}

}  // namespace

HostCheck check_service_units(const HostReport& host) {
  constexpr Subject kSubject{"service_units", "a unit that starts an engine of its own takes the GPUs from under k3d, if not now "
                                              "then after the next boot"};
  if (!host.units) return skipped(kSubject, host.units.error());
  std::vector<std::string> colliding, idle, names;
  for (const UnitFacts& unit : *host.units) {
    if (!unit.enabled && !unit.running) {
      idle.push_back(unit.name);
      continue;
    }
    names.push_back(unit.name);
    const std::string both = unit.enabled && unit.running ? " is enabled and runs" : "";
    colliding.push_back(unit.name + (!both.empty() ? both : unit.running ? " runs" : " is enabled"));
  }
  if (!colliding.empty()) return failed(kSubject, joined(colliding), "`systemctl disable --now " + joined(names, " ") + "`");
  return passed(kSubject, idle.empty() ? "none" : "neither enabled nor running: " + joined(idle));
}

HostCheck check_service_engines(const HostReport& host) {
  constexpr Subject kSubject{"service_engines", "a llama-server that k3d has not started competes for GPUs, memory and ports"};
  if (!host.servers) return skipped(kSubject, host.servers.error(), "see `pgrep -a llama-server`");
  if (host.servers->empty()) return passed(kSubject, "none");
  std::vector<std::string> words;
  bool on_gpus = false;
  for (const ForeignServer& server : *host.servers) {
    words.push_back(words_of(server));
    on_gpus |= holds_gpu(host, server.pid);
  }
  const std::string fix = "see whose it is (`ps -o user,pid,etime,args -p PID`, `docker ps`) and stop it there, so that its "
                          "keeper does not start it again";
  const std::string measured = "llama-server " + joined(words) + (on_gpus ? ", on the GPUs" : "");
  return on_gpus ? failed(kSubject, measured, fix) : warned(kSubject, measured, fix);
}

}  // namespace k3d::doctor
