#include "daemon/forecast/exact.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace k3d::forecast {
namespace {

void take(const MeasuredMemory::Part& told, PlannedDevice& device) {
  device.model_bytes = told.model_bytes;
  device.context_bytes = told.context_bytes;
  device.compute_bytes = told.compute_bytes;
  const Bytes needed = device.model_bytes + device.context_bytes + device.compute_bytes + device.reserve_bytes;
  device.left_bytes = static_cast<std::int64_t>(device.free_bytes) - static_cast<std::int64_t>(needed);
}

void take(const MeasuredMemory::Part& told, PlannedHost& host) {
  const Bytes before = host.model_bytes + host.context_bytes + host.compute_bytes;
  host.model_bytes = told.model_bytes;
  host.context_bytes = told.context_bytes;
  host.compute_bytes = told.compute_bytes;
  const Bytes now = told.model_bytes + told.context_bytes + told.compute_bytes;
  if (host.ram_bytes > 0) host.left_bytes += static_cast<std::int64_t>(before) - static_cast<std::int64_t>(now);
}

void judge(Plan& plan) {
  std::erase_if(plan.breaks, [](const PlanBreak& each) { return each.resource == PlanBreak::Resource::vram; });
  for (const PlannedDevice& device : plan.devices) {
    if (device.left_bytes >= 0 || plan.placement.mode == PlacementMode::fit) continue;
    const Bytes needed = device.free_bytes + static_cast<Bytes>(-device.left_bytes);
    plan.breaks.push_back({PlanBreak::Resource::vram, device.index, needed, device.free_bytes});
    plan.reasons.insert(plan.reasons.begin(),
                        fmt::format("by the engine's own figures GPU {} would need {}; {} are free", device.index,
                                    format_bytes(needed), format_bytes(device.free_bytes)));
  }
  if (plan.verdict == Verdict::blocked) return;
  const Verdict fits = plan.placement.cpu_expert_layers > 0 || plan.devices.empty() ? Verdict::hybrid : Verdict::all_vram;
  plan.verdict = plan.breaks.empty() ? fits : Verdict::too_big;
}

}  // namespace

void take_over(const ExactFigures& figures, Plan& plan) {
  const std::size_t devices = std::min(plan.devices.size(), figures.memory.devices.size());
  for (std::size_t i = 0; i < devices; ++i) take(figures.memory.devices[i], plan.devices[i]);
  take(figures.memory.host, plan.host);
  plan.basis = PlanBasis::engine;
  plan.warnings.insert(plan.warnings.end(), figures.beside.begin(), figures.beside.end());
  judge(plan);
}

}  // namespace k3d::forecast
