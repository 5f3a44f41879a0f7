#include "daemon/adapters/nvml_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "daemon/adapters/process_words.hpp"

namespace k3d::adapters {
namespace {

using Device = struct nvmlDevice_st*;
using Number = unsigned long long;

// Of nvmlReturn_t.
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;
constexpr int kDriverNotLoaded = 9;
constexpr int kFunctionNotFound = 13;
constexpr int kGpuIsLost = 15;
constexpr int kResetRequired = 16;
constexpr int kVersionMismatch = 18;

constexpr Number kNotAvailable = ~Number{0};

/// nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

/// nvmlMemory_t: `used` includes what the driver keeps for itself.
struct MemoryV1 {
  Number total, free, used;
};

/// nvmlMemory_v2_t: `used` is without `reserved`, as nvidia-smi shows it. `version` is the size and the number.
struct MemoryV2 {
  unsigned version;
  Number total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40);
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2U << 24;

/// nvmlProcessInfo_v1_t, of the calls without a number.
struct ProcessV1 {
  unsigned pid;
  Number memory;
};
static_assert(sizeof(ProcessV1) == 16);

/// nvmlProcessInfo_v2_t, of the calls _v2 and _v3.
struct ProcessV2 {
  unsigned pid;
  Number memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessV2) == 24);

struct Utilization {
  unsigned gpu, memory;
};

template <class Record>
using ListCall = int (*)(Device, unsigned*, Record*);

struct ProcessCalls {
  ListCall<ProcessV2> v2 = nullptr;
  ListCall<ProcessV1> v1 = nullptr;
};

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

struct Card {
  PciInfo pci{};
  GpuState state;

  [[nodiscard]] auto place() const { return std::tuple(pci.domain, pci.bus, pci.device); }
};

std::string hint_for(int status) {
  if (status == kGpuIsLost || status == kResetRequired) {
    return "look at `dmesg | grep Xid`; the GPU may need a reset, or the host a reboot";
  }
  if (status == kVersionMismatch) return "the driver's library and its kernel module differ: reboot the host after an update";
  return "look at `nvidia-smi`";
}

}  // namespace

struct NvmlLibrary::Calls {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*words)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*pci)(Device, PciInfo*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory_v1)(Device, MemoryV1*) = nullptr;
  int (*memory_v2)(Device, MemoryV2*) = nullptr;
  ProcessCalls compute, graphics;

  /// The names that are missing.
  std::string load(void* library) {
    std::string missing;
    const auto get = [library, &missing](auto& call, const char* symbol, bool needed = true) {
      call = reinterpret_cast<std::decay_t<decltype(call)>>(::dlsym(library, symbol));
      if (needed && !call) missing += std::string(missing.empty() ? "" : ", ") + symbol;
    };
    get(init, "nvmlInit_v2");
    get(shutdown, "nvmlShutdown");
    get(words, "nvmlErrorString");
    get(count, "nvmlDeviceGetCount_v2");
    get(device, "nvmlDeviceGetHandleByIndex_v2");
    get(pci, "nvmlDeviceGetPciInfo_v3");
    get(uuid, "nvmlDeviceGetUUID");
    get(name, "nvmlDeviceGetName");
    get(utilization, "nvmlDeviceGetUtilizationRates");
    get(memory_v1, "nvmlDeviceGetMemoryInfo");
    get(memory_v2, "nvmlDeviceGetMemoryInfo_v2", false);
    load_lists(get, compute, "nvmlDeviceGetComputeRunningProcesses");
    load_lists(get, graphics, "nvmlDeviceGetGraphicsRunningProcesses");
    return missing;
  }

  /// _v2 before _v3: they give the same, but some drivers of R535 had a longer record under the name of _v3.
  static void load_lists(const auto& get, ProcessCalls& calls, const std::string& name) {
    get(calls.v1, name.c_str());
    get(calls.v2, (name + "_v2").c_str(), false);
    if (!calls.v2) get(calls.v2, (name + "_v3").c_str(), false);
  }

  [[nodiscard]] std::unexpected<Error> refused(const std::string& what, int status) const {
    const char* text = words(status);
    return fail(Code::unreachable, "the NVIDIA driver can't tell " + what, hint_for(status),
                text == nullptr ? "status " + std::to_string(status) : text);
  }

  int read_memory(Device handle, GpuState& gpu) const {
    MemoryV2 now{kMemoryV2, 0, 0, 0, 0};
    if (memory_v2 && memory_v2(handle, &now) == kSuccess) {
      gpu.memory_total_bytes = now.total;
      gpu.memory_used_bytes = now.used;
      return kSuccess;
    }
    MemoryV1 old{};
    const int status = memory_v1(handle, &old);
    gpu.memory_total_bytes = old.total;
    gpu.memory_used_bytes = old.used;
    return status == kNotSupported ? kSuccess : status;
  }

  int read_utilization(Device handle, GpuState& gpu) const {
    Utilization rates{};
    const int status = utilization(handle, &rates);
    gpu.utilization_percent = static_cast<int>(rates.gpu);
    const bool lost = status == kGpuIsLost || status == kResetRequired;
    return lost ? status : kSuccess;  // a part of a divided GPU, for one, has no such figure
  }

  /// A process that computes and draws is in both lists, with the same memory.
  int read_processes(Device handle, GpuState& gpu) const {
    Holders holders, drawing;
    const int computing_status = list(compute, handle, holders);
    if (computing_status != kSuccess && computing_status != kNotSupported) return computing_status;
    const int drawing_status = list(graphics, handle, drawing);
    if (drawing_status != kSuccess && drawing_status != kNotSupported) return drawing_status;
    holders.merge(drawing);
    gpu.processes = described(holders);
    return kSuccess;
  }

  Result<Card> read_card(unsigned number) const {
    const std::string which = " of GPU " + std::to_string(number);
    Device handle = nullptr;
    Card card;
    std::array<char, 96> text{};
    if (int s = device(number, &handle); s != kSuccess) return refused("the handle" + which, s);
    if (int s = pci(handle, &card.pci); s != kSuccess) return refused("the PCI address" + which, s);
    if (int s = uuid(handle, text.data(), text.size() - 1); s != kSuccess) return refused("the UUID" + which, s);
    card.state.uuid = text.data();
    if (int s = name(handle, text.data(), text.size() - 1); s != kSuccess) return refused("the name" + which, s);
    card.state.name = text.data();
    if (int s = read_memory(handle, card.state); s != kSuccess) return refused("the memory" + which, s);
    if (int s = read_utilization(handle, card.state); s != kSuccess) return refused("the load" + which, s);
    if (int s = read_processes(handle, card.state); s != kSuccess) return refused("the processes" + which, s);
    return card;
  }

  Result<std::vector<GpuState>> read_all() const {
    unsigned number = 0;
    if (int s = count(&number); s != kSuccess) return refused("how many GPUs there are", s);
    std::vector<Card> cards;
    for (unsigned i = 0; i < number; ++i) {
      Result<Card> card = read_card(i);
      if (!card) return fail(std::move(card.error()));
      cards.push_back(std::move(*card));
    }
    std::sort(cards.begin(), cards.end(), [](const Card& a, const Card& b) { return a.place() < b.place(); });
    std::vector<GpuState> gpus;
    for (Card& card : cards) {
      card.state.index = static_cast<int>(gpus.size());
      gpus.push_back(std::move(card.state));
    }
    return gpus;
  }
};

NvmlLibrary::NvmlLibrary() {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    missing_ = why == nullptr ? "there is no libnvidia-ml.so.1" : why;
    return;
  }
  auto calls = std::make_unique<Calls>();
  if (const std::string lacking = calls->load(library); !lacking.empty()) {
    missing_ = "libnvidia-ml.so.1 is too old: it lacks " + lacking;
    return;
  }
  calls_ = std::move(calls);
}

NvmlLibrary::~NvmlLibrary() {
  if (open_) calls_->shutdown();
}

NvmlReading NvmlLibrary::read() {
  if (!calls_) return {missing_, {}};
  if (!open_) {
    const int status = calls_->init();
    if (status == kDriverNotLoaded) return {calls_->words(status), {}};
    if (status != kSuccess) return {"", calls_->refused("anything", status)};
    open_ = true;
  }
  NvmlReading reading{"", calls_->read_all()};
  if (!reading.gpus) {
    calls_->shutdown();
    open_ = false;
  }
  return reading;
}

}  // namespace k3d::adapters
