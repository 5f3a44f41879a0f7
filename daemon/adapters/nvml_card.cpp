#include "daemon/adapters/nvml_card.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "daemon/adapters/process_words.hpp"

namespace k3d::adapters {
namespace {

using namespace nvml_api;  // NOLINT(google-build-using-namespace): this file speaks NVML

/// Memory by pid; nothing where the driver doesn't tell.
using Holders = std::map<unsigned, std::optional<Bytes>>;

/// One call's processes. A pid comes more than once where a GPU is divided (MIG): its parts are added.
template <class Record>
int list(ListCall<Record> call, Device device, Holders& holders) {
  constexpr unsigned kRoom = 64;
  constexpr unsigned kMost = 65536;
  std::vector<Record> records(kRoom);
  unsigned count = kRoom;
  int status = call(device, &count, records.data());
  while (status == kInsufficientSize && records.size() < kMost) {
    // More may come between two calls.
    records.resize(std::min(std::max<std::size_t>(count, records.size()) + kRoom, std::size_t{kMost}));
    count = static_cast<unsigned>(records.size());
    status = call(device, &count, records.data());
  }
  if (status != kSuccess) return status;
  records.resize(std::min<std::size_t>(count, records.size()));
  for (const Record& record : records) {
    const auto [at, first] = holders.try_emplace(record.pid, Bytes{0});
    if (record.memory == kNotAvailable) at->second.reset();
    if (at->second) *at->second += record.memory;
  }
  return kSuccess;
}

int list(const ProcessCalls& calls, Device device, Holders& holders) {
  const int status = calls.v2 ? list(calls.v2, device, holders) : kFunctionNotFound;
  if (status == kFunctionNotFound && calls.v1) return list(calls.v1, device, holders);
  return status;
}

std::vector<GpuProcess> described(const Holders& holders) {
  std::vector<GpuProcess> processes;
  for (const auto& [pid, memory] : holders) {
    // What has ended holds nothing any more: memory that is still used then belongs to no process.
    auto words = process_words(static_cast<int>(pid));
    if (!words) continue;
    processes.push_back({static_cast<int>(pid), std::move(words->name), memory, std::move(words->container), false});
  }
  return processes;
}

int read_memory(const Calls& calls, Device handle, GpuFacts& facts) {
  GpuState& gpu = facts.state;
  MemoryV2 now{kMemoryV2, 0, 0, 0, 0};
  if (calls.memory_v2 && calls.memory_v2(handle, &now) == kSuccess) {
    gpu.memory_total_bytes = now.total;
    gpu.memory_used_bytes = now.used;
    facts.free_bytes = now.free;
    return kSuccess;
  }
  MemoryV1 old{};
  const int status = calls.memory_v1(handle, &old);
  gpu.memory_total_bytes = old.total;
  gpu.memory_used_bytes = old.used;
  if (status == kSuccess) facts.free_bytes = old.free;
  return status == kNotSupported ? kSuccess : status;
}

int read_utilization(const Calls& calls, Device handle, GpuState& gpu) {
  Utilization rates{};
  const int status = calls.utilization(handle, &rates);
  gpu.utilization_percent = static_cast<int>(rates.gpu);
  const bool lost = status == kGpuIsLost || status == kResetRequired;
  return lost ? status : kSuccess;  // a part of a divided GPU, for one, has no such figure
}

/// A process that computes and draws is in both lists, with the same memory.
int read_processes(const Calls& calls, Device handle, GpuState& gpu) {
  Holders holders, drawing;
  const int computing_status = list(calls.compute, handle, holders);
  if (computing_status != kSuccess && computing_status != kNotSupported) return computing_status;
  const int drawing_status = list(calls.graphics, handle, drawing);
  if (drawing_status != kSuccess && drawing_status != kNotSupported) return drawing_status;
  holders.merge(drawing);
  gpu.processes = described(holders);
  return kSuccess;
}

/// Everything that a reading can't do without, until something is refused.
Status read_into(const Calls& calls, unsigned number, NvmlCard& card) {
  const std::string which = " of GPU " + std::to_string(number);
  GpuState& state = card.facts.state;
  Device handle = nullptr;
  std::array<char, 96> text{};
  if (int s = calls.device(number, &handle); s != kSuccess) return calls.refused("the handle" + which, s);
  if (int s = calls.pci(handle, &card.pci); s != kSuccess) return calls.refused("the PCI address" + which, s);
  card.placed = true;
  if (int s = calls.uuid(handle, text.data(), text.size() - 1); s != kSuccess) return calls.refused("the UUID" + which, s);
  state.uuid = text.data();
  if (int s = calls.name(handle, text.data(), text.size() - 1); s != kSuccess) return calls.refused("the name" + which, s);
  state.name = text.data();
  if (int s = read_memory(calls, handle, card.facts); s != kSuccess) return calls.refused("the memory" + which, s);
  if (int s = read_utilization(calls, handle, state); s != kSuccess) return calls.refused("the load" + which, s);
  if (int s = read_processes(calls, handle, state); s != kSuccess) return calls.refused("the processes" + which, s);
  return {};
}

}  // namespace

NvmlCard read_card(const Calls& calls, unsigned number) {
  NvmlCard card;
  if (Status read = read_into(calls, number, card); !read) {
    card.facts.trouble = read.error().cause;
    card.error = std::move(read.error());
  }
  return card;
}

void read_details(const Calls& calls, unsigned number, NvmlCard& card) {
  Device handle = nullptr;
  if (card.error || calls.device(number, &handle) != kSuccess) return;
  int major = 0, minor = 0;
  if (calls.capability && calls.capability(handle, &major, &minor) == kSuccess) {
    card.facts.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  }
  unsigned divided = 0, later = 0;
  if (calls.mig && calls.mig(handle, &divided, &later) == kSuccess) card.facts.mig = divided == 1;
  int ecc = 0, pending = 0;
  if (calls.ecc && calls.ecc(handle, &ecc, &pending) == kSuccess) card.facts.ecc = ecc == 1;
  Number errors = 0;
  if (calls.ecc_errors && calls.ecc_errors(handle, kUncorrected, kVolatile, &errors) == kSuccess) {
    card.facts.uncorrected_errors = errors;
  }
}

}  // namespace k3d::adapters
