#include "daemon/lifecycle/vram.hpp"

#include <algorithm>
#include <utility>

namespace k3d::lifecycle {
namespace {

/// What a driver keeps for itself, beside CUDA contexts that have just ended, stays below this.
constexpr Bytes kUnaccountedLimit = kGiB;
constexpr std::size_t kMostNamed = 8;
constexpr std::size_t kShortId = 12;

bool among(const std::vector<std::string>& uuids, const GpuState& gpu) {
  return std::find(uuids.begin(), uuids.end(), gpu.uuid) != uuids.end();
}

Bytes less(Bytes whole, Bytes part) { return whole > part ? whole - part : 0; }

Bytes free_of(const GpuState& gpu) { return less(gpu.memory_total_bytes, gpu.memory_used_bytes); }

/// Used memory that no process holds; nothing where a process' memory is not known.
std::optional<Bytes> unaccounted(const GpuState& gpu) {
  Bytes sum = 0;
  for (const GpuProcess& process : gpu.processes) {
    if (!process.memory_bytes) return std::nullopt;
    sum += *process.memory_bytes;
  }
  return less(gpu.memory_used_bytes, sum);
}

std::string named(const GpuProcess& process) {
  std::string out = (process.name.empty() ? "a process" : process.name) + " (pid " + std::to_string(process.pid) + ", ";
  out += process.memory_bytes ? format_bytes(*process.memory_bytes) : "memory unknown";
  if (!process.container.empty()) out += ", container " + process.container.substr(0, kShortId);
  return out + (process.ours ? ", ours)" : ")");
}

/// The largest first, and the number of those that are left out.
std::string named(std::vector<GpuProcess> processes) {
  std::sort(processes.begin(), processes.end(), [](const GpuProcess& a, const GpuProcess& b) {
    return std::pair(b.memory_bytes, a.pid) < std::pair(a.memory_bytes, b.pid);
  });
  std::string out;
  for (std::size_t i = 0; i < std::min(processes.size(), kMostNamed); ++i) out += (i == 0 ? "" : ", ") + named(processes[i]);
  if (processes.size() > kMostNamed) out += " and " + std::to_string(processes.size() - kMostNamed) + " more";
  return out;
}

struct Trouble {
  bool ours = false, unaccounted = false, too_little = false;
  Bytes need = 0;

  [[nodiscard]] bool any() const { return ours || unaccounted || too_little; }
};

Trouble trouble_of(const GpuState& gpu, const VramNeed& need) {
  Trouble trouble;
  trouble.ours = std::any_of(gpu.processes.begin(), gpu.processes.end(), [](const GpuProcess& p) { return p.ours; });
  trouble.unaccounted = unaccounted(gpu).value_or(0) > kUnaccountedLimit;
  const auto found = need.per_gpu.find(gpu.uuid);
  if (found != need.per_gpu.end()) trouble.need = found->second;
  trouble.too_little = free_of(gpu) < trouble.need;
  return trouble;
}

std::string told(const GpuState& gpu, const Trouble& trouble) {
  std::string out = "GPU " + std::to_string(gpu.index) + ": " + format_bytes(gpu.memory_used_bytes) + " of " +
                    format_bytes(gpu.memory_total_bytes) + " used, " + format_bytes(free_of(gpu)) + " free";
  if (trouble.need > 0) out += ", " + format_bytes(trouble.need) + " needed";
  if (!gpu.processes.empty()) out += "; held by " + named(gpu.processes);
  if (trouble.unaccounted) out += "; " + format_bytes(*unaccounted(gpu)) + " belong to no process";
  return out;
}

std::string advice_for(bool ours, bool unaccounted) {
  if (ours) return "see whether the old engine's process still ends (ps, `dmesg | grep Xid`); k3d tries again";
  if (unaccounted) {
    return "the driver still gives memory back, or a process that this host can't see holds it: look at "
           "`nvidia-smi` and `fuser -v /dev/nvidia*`";
  }
  return "end what holds the memory, or use a smaller context, fewer slots or a smaller quant";
}

}  // namespace

std::vector<GpuState> mark_ours(std::vector<GpuState> gpus, const std::string& container_id) {
  for (GpuState& gpu : gpus) {
    for (GpuProcess& process : gpu.processes) process.ours = !container_id.empty() && process.container == container_id;
  }
  return gpus;
}

std::vector<std::string> uuids_of_devices(const std::vector<std::string>& cdi_devices, const std::vector<GpuState>& gpus) {
  std::vector<std::string> uuids;
  for (const GpuState& gpu : gpus) {
    const bool named = std::any_of(cdi_devices.begin(), cdi_devices.end(), [&gpu](const std::string& device) {
      const std::string name = device.substr(device.find('=') + 1);
      return name == "all" || name == gpu.uuid || name == std::to_string(gpu.index);
    });
    if (named) uuids.push_back(gpu.uuid);
  }
  return uuids;
}

std::optional<Failure> vram_in_the_way(const std::vector<GpuState>& gpus, const std::vector<std::string>& uuids_of_launch,
                                       const VramNeed& need) {
  std::string detail;
  bool ours = false, no_ones = false;
  for (const GpuState& gpu : gpus) {
    const Trouble trouble = trouble_of(gpu, need);
    if (!among(uuids_of_launch, gpu) || !trouble.any()) continue;
    detail += (detail.empty() ? "" : ". ") + told(gpu, trouble);
    ours |= trouble.ours;
    no_ones |= trouble.unaccounted;
  }
  if (detail.empty()) return std::nullopt;
  Failure failure;
  failure.code = "vram_not_released";
  failure.title = "The GPUs' memory is not free";
  failure.detail = std::move(detail);
  failure.advice = advice_for(ours, no_ones);
  failure.retryable = true;
  return failure;
}

std::optional<Condition> foreign_gpu_processes(const std::vector<GpuState>& gpus,
                                               const std::vector<std::string>& uuids_of_profile) {
  std::string detail;
  for (const GpuState& gpu : gpus) {
    if (!among(uuids_of_profile, gpu)) continue;
    std::vector<GpuProcess> foreign;
    std::copy_if(gpu.processes.begin(), gpu.processes.end(), std::back_inserter(foreign),
                 [](const GpuProcess& process) { return !process.ours; });
    if (foreign.empty()) continue;
    detail += (detail.empty() ? "" : ". ") + std::string("GPU ") + std::to_string(gpu.index) + ": " + named(foreign);
  }
  if (detail.empty()) return std::nullopt;
  return Condition{"foreign_gpu_processes", Severity::warning, {}, "Other processes are on the engine's GPUs", detail,
                   "they take memory and time from the engine: end them, or give the profile other GPUs"};
}

}  // namespace k3d::lifecycle
