#include "daemon/planning/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace k3d::planning {
namespace {

std::string gib(double bytes) {
  return fmt::format("{:.1f} GiB", bytes / static_cast<double>(kGiB));
}
std::string gib(Bytes bytes) {
  return gib(static_cast<double>(bytes));
}
std::string gib(std::int64_t bytes) {
  return gib(static_cast<double>(bytes));
}

const char* headline(Verdict verdict) {
  switch (verdict) {
    case Verdict::all_vram:
      return "It runs, all in VRAM";
    case Verdict::hybrid:
      return "It runs, partly from host RAM";
    case Verdict::too_big:
      return "It does not fit";
    case Verdict::blocked:
      return "It can't be planned";
  }
  return "";
}

std::string placement_line(const PlannedPlacement& placement) {
  switch (placement.mode) {
    case PlacementMode::fit:
      return fmt::format("The engine fits it by itself and leaves {} MiB free per GPU; layers, as forecast: {}.",
                         fmt::join(placement.fit_target_mib, ","), fmt::join(placement.tensor_split, ", "));
    case PlacementMode::n_cpu_moe:
      return fmt::format(
          "Experts of the first {} layers are in host RAM (--n-cpu-moe); layers per GPU (--tensor-split): {}.",
          placement.n_cpu_moe.value_or(0), fmt::join(placement.tensor_split, ", "));
    case PlacementMode::override_tensors:
    case PlacementMode::pinned:
      return fmt::format("Weights go where {} patterns say; layers per GPU: {}.", placement.tensors.size(),
                         fmt::join(placement.tensor_split, ", "));
  }
  return "";
}

std::string device_line(const PlannedDevice& device) {
  return fmt::format(
      "GPU {}: {} layers, {} of weights, {} of context, {} of compute buffers, {} for CUDA itself; {} of {} left.",
      device.index, device.layers, gib(device.model_bytes), gib(device.context_bytes), gib(device.compute_bytes),
      gib(device.reserve_bytes), gib(device.left_bytes), gib(device.free_bytes));
}

std::string host_line(const PlannedHost& host) {
  std::string line =
      fmt::format("Host RAM: {} of weights, {} of buffers, up to {} of prompt cache and context checkpoints",
                  gib(host.model_bytes), gib(host.context_bytes + host.compute_bytes), gib(host.cache_bytes));
  if (host.ram_bytes > 0) line += fmt::format("; {} of {} left", gib(host.left_bytes), gib(host.ram_bytes));
  return line + ".";
}

std::string capacity_line(const std::vector<Capacity>& rows) {
  std::vector<std::string> parts;
  for (const Capacity& row : rows) {
    parts.push_back(fmt::format("{} of {}K ({})", row.sequences, row.context / 1024, row.cache_type));
  }
  return fmt::format("Its memory would hold as many sequences: {}.", fmt::join(parts, ", "));
}

}  // namespace

std::string explain(const Plan& plan) {
  std::vector<std::string> lines{fmt::format("{}: {}.", headline(plan.verdict), fmt::join(plan.reasons, "; "))};
  if (plan.verdict == Verdict::blocked) return lines.front() + "\n";
  if (!plan.devices.empty()) lines.push_back(placement_line(plan.placement));
  for (const PlannedDevice& device : plan.devices) lines.push_back(device_line(device));
  lines.push_back(host_line(plan.host));
  if (!plan.devices.empty()) {
    lines.push_back(
        fmt::format("CUDA takes {} per GPU beyond the engine's own figures: its context, and scratch that grows "
                    "with the first long prompts.",
                    gib(plan.devices.front().reserve_bytes)));
  }
  if (plan.load_seconds) {
    const seconds whole{static_cast<std::int64_t>(std::lround(*plan.load_seconds))};
    lines.push_back(fmt::format("Loading {} takes about {}.", gib(plan.total_bytes), format_duration(whole)));
  }
  for (const std::string& warning : plan.warnings) lines.push_back("Warning: " + warning + ".");
  if (!plan.capacity.empty()) lines.push_back(capacity_line(plan.capacity));
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace k3d::planning
