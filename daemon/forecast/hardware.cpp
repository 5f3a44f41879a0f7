#include "daemon/forecast/hardware.hpp"

#include <algorithm>
#include <set>

namespace k3d::forecast {
namespace {

/// Free now, and what our own engine holds: it is stopped before another one starts.
planning::GpuMemory memory_of(const GpuState& gpu, const std::string& engine) {
  Bytes ours = 0;
  for (const GpuProcess& process : gpu.processes) {
    if (!engine.empty() && process.container == engine) ours += process.memory_bytes.value_or(0);
  }
  const Bytes used = gpu.memory_used_bytes - std::min(ours, gpu.memory_used_bytes);
  return {gpu.index, gpu.memory_total_bytes, gpu.memory_total_bytes - std::min(used, gpu.memory_total_bytes)};
}

bool is_called(const GpuState& gpu, const std::string& word) {
  return word == gpu.uuid || word == std::to_string(gpu.index);
}

Result<const GpuState*> find(const std::vector<GpuState>& gpus, const std::string& word) {
  const auto found = std::ranges::find_if(gpus, [&word](const GpuState& gpu) { return is_called(gpu, word); });
  if (found != gpus.end()) return &*found;
  std::string there;
  for (const GpuState& gpu : gpus) there += (there.empty() ? "" : ", ") + std::to_string(gpu.index);
  return fail(Code::invalid_request, "there is no GPU " + word + " on this host",
              gpus.empty() ? "it has none; give free_bytes and total_bytes of GPUs that it doesn't have"
                           : "it has " + there);
}

struct Chosen {
  planning::GpuMemory memory;
  std::string name;
};

Result<std::vector<Chosen>> choose(const PlanQuestion& question, const Profile& profile, const std::vector<GpuState>& gpus,
                                   const std::string& engine) {
  std::vector<Chosen> chosen;
  std::vector<std::string> words = profile.gpus.listed;
  if (question.gpus) words.clear();
  for (const AskedGpu& asked : question.gpus.value_or(std::vector<AskedGpu>())) {
    if (asked.index) words.push_back(std::to_string(*asked.index));
    const Bytes total = std::max(asked.total_bytes, asked.free_bytes);
    if (!asked.index) chosen.push_back({{static_cast<int>(chosen.size()), total, asked.free_bytes}, {}});
  }
  if (!question.gpus && profile.gpus.choice == GpuChoice::all) {
    for (const GpuState& gpu : gpus) chosen.push_back({memory_of(gpu, engine), gpu.name});
  }
  for (const std::string& word : words) {
    const Result<const GpuState*> found = find(gpus, word);
    if (!found) return fail(found.error());
    chosen.push_back({memory_of(**found, engine), (*found)->name});
  }
  // The engine counts them by PCI order, however a list is written.
  std::ranges::sort(chosen, {}, [](const Chosen& gpu) { return gpu.memory.index; });
  return chosen;
}

}  // namespace

std::vector<std::string> Hardware::models() const {
  std::set<std::string> models;
  for (const std::string& name : names) models.insert(name.empty() ? "a GPU of unknown model" : name);
  return {models.begin(), models.end()};
}

bool needs_gpus(const PlanQuestion& question, const Profile& profile) {
  if (!question.gpus) return profile.gpus.choice != GpuChoice::none;
  return std::ranges::any_of(*question.gpus, [](const AskedGpu& gpu) { return gpu.index.has_value(); });
}

Result<Hardware> choose_gpus(const PlanQuestion& question, const Profile& profile, const std::vector<GpuState>& gpus,
                             const std::string& engine) {
  const auto chosen = choose(question, profile, gpus, engine);
  if (!chosen) return fail(chosen.error());
  Hardware hardware;
  for (const Chosen& gpu : *chosen) {
    hardware.gpus.push_back(gpu.memory);
    hardware.names.push_back(gpu.name);
  }
  return hardware;
}

}  // namespace k3d::forecast
