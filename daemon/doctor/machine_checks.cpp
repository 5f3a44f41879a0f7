// Processors, memory, network and clock.
#include <fmt/format.h>

#include "daemon/doctor/checks.hpp"
#include "daemon/doctor/verdict.hpp"

namespace k3d::doctor {
namespace {

/// What an engine takes even if all of the model is on the GPUs, its cache of prompts included.
constexpr Bytes kLeastMemory = 16 * kGiB;
constexpr int kGentleSwappiness = 10;
constexpr const char* kBalancingOff =
    "`sysctl -w kernel.numa_balancing=0`, and to make it last `echo 'kernel.numa_balancing = 0' > /etc/sysctl.d/k3d.conf`";

std::string nodes(int count) { return count == 1 ? "1 node" : fmt::format("{} nodes", count); }

}  // namespace

HostCheck check_cpu_cores(const HostReport& host) {
  constexpr Subject kSubject{"cpu_cores", "experts that don't fit into the GPUs compute on the physical cores"};
  if (!host.cpu) return skipped(kSubject, host.cpu.error());
  const CpuFacts& cpu = *host.cpu;
  return passed(kSubject, fmt::format("{}, {} socket{}, {} cores, {} threads", cpu.model.empty() ? "processor" : cpu.model,
                                      cpu.sockets, cpu.sockets == 1 ? "" : "s", cpu.cores, cpu.threads));
}

HostCheck check_cpu_avx512(const HostReport& host) {
  constexpr Subject kSubject{"cpu_avx512", "experts on the CPU compute slower without it"};
  if (!host.cpu) return skipped(kSubject, host.cpu.error());
  if (!host.cpu->avx512) return skipped(kSubject, "another kind of processor");
  if (*host.cpu->avx512) return passed(kSubject, "there");
  return warned(kSubject, "none", "nothing to do for a model that is wholly on the GPUs; else expect slow experts");
}

HostCheck check_cpu_amx(const HostReport& host) {
  constexpr Subject kSubject{"cpu_amx", "speeds up prompts of models with experts on the CPU; nothing depends on it"};
  if (!host.cpu) return skipped(kSubject, host.cpu.error());
  if (!host.cpu->amx) return skipped(kSubject, "another kind of processor");
  return passed(kSubject, *host.cpu->amx ? "there" : "none, which is fine");
}

HostCheck check_memory_available(const HostReport& host) {
  constexpr Subject kSubject{"memory_available", "an engine needs some even if the model is wholly on the GPUs, and all of its "
                                                 "experts' weights where they are on the CPU"};
  if (!host.memory) return skipped(kSubject, host.memory.error());
  const MemoryFacts& memory = *host.memory;
  const std::string measured = format_bytes(memory.available_bytes) + " of " + format_bytes(memory.total_bytes) + " available";
  if (memory.available_bytes >= kLeastMemory) return passed(kSubject, measured);
  return warned(kSubject, measured, "end what takes it (`ps aux --sort -rss | head`), or give profiles a smaller cache_ram");
}

HostCheck check_memory_huge_pages(const HostReport& host) {
  constexpr Subject kSubject{"memory_huge_pages", "what is set aside as huge pages is lost to the engine, which uses none"};
  if (!host.memory) return skipped(kSubject, host.memory.error());
  const MemoryFacts& memory = *host.memory;
  const std::string measured = format_bytes(memory.huge_pages_bytes) + " set aside";
  if (memory.huge_pages_bytes == 0) return passed(kSubject, "none set aside");
  if (memory.huge_pages_bytes < memory.total_bytes / 20) return passed(kSubject, measured);
  return warned(kSubject, measured, "`sysctl -w vm.nr_hugepages=0`, and take vm.nr_hugepages out of /etc/sysctl.d and "
                                    "hugepages= out of the kernel's command line, unless something else uses them");
}

HostCheck check_memory_swap(const HostReport& host) {
  constexpr Subject kSubject{"memory_swap", "weights that are swapped out come back at a disk's speed: answers stall"};
  if (!host.memory) return skipped(kSubject, host.memory.error());
  const MemoryFacts& memory = *host.memory;
  if (memory.swap_total_bytes == 0) return passed(kSubject, "no swap");
  const std::string fix = "`sysctl -w vm.swappiness=1`, and to make it last `echo 'vm.swappiness = 1' > "
                          "/etc/sysctl.d/k3d-swap.conf`; or `swapoff -a`";
  const std::string sizes =
      format_bytes(memory.swap_used_bytes) + " of " + format_bytes(memory.swap_total_bytes) + " used, swappiness ";
  if (!memory.swappiness) return skipped(kSubject, sizes + "unknown: " + memory.swappiness.error(), fix);
  const std::string measured = sizes + std::to_string(*memory.swappiness);
  return *memory.swappiness <= kGentleSwappiness ? passed(kSubject, measured) : warned(kSubject, measured, fix);
}

HostCheck check_memory_numa_balancing(const HostReport& host) {
  constexpr Subject kSubject{"memory_numa_balancing",
                             "a kernel that moves memory between NUMA nodes fights the engine's own distribution: loads and "
                             "requests stood still for over 20 minutes"};
  if (!host.numa) return skipped(kSubject, host.numa.error());
  const NumaFacts& numa = *host.numa;
  if (!numa.balancing) return skipped(kSubject, numa.balancing.error(), "`cat /proc/sys/kernel/numa_balancing` must say 0");
  const std::string measured = nodes(numa.nodes) + (*numa.balancing ? ", balancing on" : ", balancing off");
  if (numa.nodes == 1) return passed(kSubject, measured);
  if (*numa.balancing) return failed(kSubject, measured, kBalancingOff);
  if (numa.balancing_after_boot == false) return passed(kSubject, measured);
  return warned(kSubject, measured + ", but nothing keeps it off after a reboot", kBalancingOff);
}

HostCheck check_network_tailscale(const HostReport& host) {
  constexpr Subject kSubject{"network_tailscale", "auto:PORT serves on 127.0.0.1 and Tailscale's address: without one people "
                                                  "on other machines can't reach the model"};
  if (!host.tailscale_address.empty()) return passed(kSubject, host.tailscale_address);
  if (!host.tailscale_wanted) return skipped(kSubject, "no address, and the proxy listens on others");
  return warned(kSubject, "no interface tailscale* has an address",
                "`tailscale up`; or name addresses in proxy.listen, with a file of API keys; nothing to do if this host alone "
                "uses the model");
}

HostCheck check_clock(const HostReport& host) {
  constexpr Subject kSubject{"clock", "with a wrong clock TLS to the hub fails and the times of logs mislead"};
  const std::string fix = "`timedatectl set-ntp true`; `timedatectl timesync-status` or `chronyc tracking` tell more";
  if (!host.clock_synchronised) return skipped(kSubject, host.clock_synchronised.error(), "see `timedatectl`");
  return *host.clock_synchronised ? passed(kSubject, "synchronised") : warned(kSubject, "not synchronised", fix);
}

}  // namespace k3d::doctor
