// libnvidia-ml.so.1 of a machine that is not there, for LD_LIBRARY_PATH. $K3D_FAKE_NVML names a file that every call
// reads again (replace it by rename); its lines:
//   card BUS_ID UUID TOTAL USED UTILIZATION NAME…     NVML's order is the order of the lines; bytes
//   process CARD PID MEMORY|na [graphics]
//   lost CARD                                         every call about it: GPU is lost
//   fail CALL STATUS [CARD]                           CALL: the beginning of a name
//   hang CALL | crash CALL | slow CALL MILLISECONDS
//   driver VERSION
//   fact CARD compute MAJOR.MINOR | mig 0|1 | ecc 0|1 | uncorrected COUNT      a fact that is not there: not supported
//   xid CARD NUMBER                                   told once to whoever listens
//   log FILE                                          the calls' names are appended to it
// With K3D_FAKE_NVML_OLD it is a library without the calls _v2 of memory and processes.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr unsigned long long kReserved = 600ULL << 20;

struct Card {
  std::string bus, uuid, name;
  unsigned long long total = 0, used = 0;
  unsigned utilization = 0;
  std::map<std::string, std::string> facts;
  std::vector<unsigned> xids;
};

struct Process {
  unsigned card = 0, pid = 0;
  unsigned long long memory = 0;
  bool graphics = false;
};

struct Machine {
  std::vector<Card> cards;
  std::vector<Process> processes;
  std::string driver;
};

using Device = void*;

bool concerns(const char* call, const std::string& line_call) { return std::string(call).starts_with(line_call); }

void note(const std::string& file, const char* call) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = std::string(call) + "\n";
  if (::write(fd, line.data(), line.size()) < 0) std::perror("fake_nvml");
  ::close(fd);
}

Card card_of(std::istringstream& words) {
  Card card;
  words >> card.bus >> card.uuid >> card.total >> card.used >> card.utilization >> std::ws;
  std::getline(words, card.name);
  return card;
}

Process process_of(std::istringstream& words) {
  Process process;
  std::string memory, kind;
  words >> process.card >> process.pid >> memory >> kind;
  process.memory = memory == "na" ? ~0ULL : std::strtoull(memory.c_str(), nullptr, 10);
  process.graphics = kind == "graphics";
  return process;
}

/// What a line does to a call about a card (-1: about none). The status that the call has to give.
int act(const std::string& kind, std::istringstream& words, const char* call, int card) {
  std::string about;
  words >> about;
  if (!concerns(call, about)) return 0;
  int number = 0, of = -1;
  const bool numbered = static_cast<bool>(words >> number);
  words >> of;
  if (kind == "hang") {
    for (;;) ::pause();
  }
  if (kind == "crash") std::abort();
  if (kind == "slow" && numbered) ::usleep(static_cast<unsigned>(number) * 1000);
  return kind == "fail" && (of < 0 || of == card) ? number : 0;
}

/// A line about a card that stands above it.
void describe(const std::string& kind, unsigned number, std::istringstream& words, Machine& machine) {
  if (number >= machine.cards.size()) return;
  Card& card = machine.cards[number];
  std::string name, value;
  words >> name >> value;
  if (kind == "xid") card.xids.push_back(static_cast<unsigned>(std::strtoul(name.c_str(), nullptr, 10)));
  if (kind == "fact") card.facts[name] = value;
}

/// Reads the file for one call, and does to it what the file says.
int enter(const char* call, Machine& machine, int card = -1) {
  const char* path = std::getenv("K3D_FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  int status = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    unsigned number = 0;
    if (kind == "card") {
      machine.cards.push_back(card_of(words));
    } else if (kind == "process") {
      machine.processes.push_back(process_of(words));
    } else if (kind == "lost" && words >> number) {
      if (static_cast<int>(number) == card) status = 15;
    } else if ((kind == "fact" || kind == "xid") && words >> number) {
      describe(kind, number, words, machine);
    } else if (kind == "driver") {
      words >> machine.driver;
    } else if (kind == "log") {
      words >> line;
      note(line, call);
    } else if (const int told = act(kind, words, call, card); told != 0) {
      status = told;
    }
  }
  return status;
}

int number_of(Device device) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(device)) - 1; }

/// `card` of a call about one; a status if it can't be told.
int enter(const char* call, Device device, Card& card, Machine& machine) {
  const int number = number_of(device);
  const int status = enter(call, machine, number);
  if (status != 0) return status;
  if (number < 0 || static_cast<std::size_t>(number) >= machine.cards.size()) return 28;
  card = machine.cards[static_cast<std::size_t>(number)];
  return 0;
}

int copy(const std::string& text, char* place, unsigned room) {
  if (text.size() + 1 > room) return 7;
  std::memcpy(place, text.c_str(), text.size() + 1);
  return 0;
}

/// A number that the file tells of a card; "not supported" if it doesn't.
int fact(const char* call, Device device, const std::string& name, std::string& value) {
  Machine machine;
  Card card;
  if (const int status = enter(call, device, card, machine); status != 0) return status;
  if (!card.facts.contains(name)) return 3;
  value = card.facts[name];
  return 0;
}

int number_fact(const char* call, Device device, const std::string& name, unsigned long long& value) {
  std::string text;
  const int status = fact(call, device, name, text);
  if (status == 0) value = std::strtoull(text.c_str(), nullptr, 10);
  return status;
}

template <class Record, class Fill>
int list(const char* call, bool graphics, Device device, unsigned* count, Record* records, Fill fill) {
  Machine machine;
  Card card;
  if (const int status = enter(call, device, card, machine); status != 0) return status;
  std::vector<Process> found;
  for (const Process& process : machine.processes) {
    if (static_cast<int>(process.card) == number_of(device) && process.graphics == graphics) found.push_back(process);
  }
  const unsigned room = *count;
  *count = static_cast<unsigned>(found.size());
  if (found.size() > room) return 7;
  for (std::size_t i = 0; i < found.size(); ++i) fill(records[i], found[i]);
  return 0;
}

}  // namespace

extern "C" {

struct nvmlPciInfo {
  char busIdLegacy[16];
  unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
struct nvmlUtilization {
  unsigned int gpu, memory;
};
struct nvmlMemory {
  unsigned long long total, free, used;
};
struct nvmlMemoryV2 {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
struct nvmlProcessInfoV1 {
  unsigned int pid;
  unsigned long long usedGpuMemory;
};
struct nvmlProcessInfoV2 {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId, computeInstanceId;
};

int nvmlInit_v2() {
  Machine machine;
  return enter("nvmlInit_v2", machine);
}

int nvmlShutdown() {
  Machine machine;
  return enter("nvmlShutdown", machine);
}

const char* nvmlErrorString(int status) {
  switch (status) {
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  Machine machine;
  const int status = enter("nvmlDeviceGetCount_v2", machine);
  *count = static_cast<unsigned int>(machine.cards.size());
  return status;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device) {
  Machine machine;
  *device = reinterpret_cast<Device>(std::uintptr_t{index} + 1);
  return enter("nvmlDeviceGetHandleByIndex_v2", machine, static_cast<int>(index));
}

int nvmlDeviceGetPciInfo_v3(Device device, nvmlPciInfo* pci) {
  Machine machine;
  Card card;
  const int status = enter("nvmlDeviceGetPciInfo_v3", device, card, machine);
  if (status != 0) return status;
  std::sscanf(card.bus.c_str(), "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
  return copy(card.bus, pci->busId, sizeof pci->busId);
}

int nvmlDeviceGetUUID(Device device, char* uuid, unsigned int length) {
  Machine machine;
  Card card;
  const int status = enter("nvmlDeviceGetUUID", device, card, machine);
  return status != 0 ? status : copy(card.uuid, uuid, length);
}

int nvmlDeviceGetName(Device device, char* name, unsigned int length) {
  Machine machine;
  Card card;
  const int status = enter("nvmlDeviceGetName", device, card, machine);
  return status != 0 ? status : copy(card.name, name, length);
}

int nvmlDeviceGetUtilizationRates(Device device, nvmlUtilization* rates) {
  Machine machine;
  Card card;
  const int status = enter("nvmlDeviceGetUtilizationRates", device, card, machine);
  if (status == 0) *rates = {card.utilization, 0};
  return status;
}

int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  Machine machine;
  const int status = enter("nvmlSystemGetDriverVersion", machine);
  if (status != 0) return status;
  return machine.driver.empty() ? 3 : copy(machine.driver, version, length);
}

int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  std::string text;
  const int status = fact("nvmlDeviceGetCudaComputeCapability", device, "compute", text);
  if (status == 0) std::sscanf(text.c_str(), "%d.%d", major, minor);
  return status;
}

int nvmlDeviceGetMigMode(Device device, unsigned int* current, unsigned int* pending) {
  unsigned long long on = 0;
  const int status = number_fact("nvmlDeviceGetMigMode", device, "mig", on);
  *current = *pending = static_cast<unsigned int>(on);
  return status;
}

int nvmlDeviceGetEccMode(Device device, int* current, int* pending) {
  unsigned long long on = 0;
  const int status = number_fact("nvmlDeviceGetEccMode", device, "ecc", on);
  *current = *pending = static_cast<int>(on);
  return status;
}

int nvmlDeviceGetTotalEccErrors(Device device, int error, int counter, unsigned long long* count) {
  if (error != 1 || counter != 0) return 2;
  return number_fact("nvmlDeviceGetTotalEccErrors", device, "uncorrected", *count);
}

struct nvmlEventData {
  Device device;
  unsigned long long eventType, eventData;
  unsigned int gpuInstanceId, computeInstanceId;
};

int nvmlEventSetCreate(void** set) {
  static int dummy;
  Machine machine;
  *set = &dummy;
  return enter("nvmlEventSetCreate", machine);
}

int nvmlEventSetFree(void* /*set*/) {
  Machine machine;
  return enter("nvmlEventSetFree", machine);
}

int nvmlDeviceRegisterEvents(Device device, unsigned long long types, void* /*set*/) {
  Machine machine;
  Card card;
  return types == 8 ? enter("nvmlDeviceRegisterEvents", device, card, machine) : 2;
}

int nvmlEventSetWait_v2(void* /*set*/, nvmlEventData* data, unsigned int /*milliseconds*/) {
  static std::set<std::pair<std::size_t, unsigned>> told;
  Machine machine;
  if (const int status = enter("nvmlEventSetWait_v2", machine); status != 0) return status;
  for (std::size_t i = 0; i < machine.cards.size(); ++i) {
    for (const unsigned xid : machine.cards[i].xids) {
      if (!told.emplace(i, xid).second) continue;
      *data = {reinterpret_cast<Device>(i + 1), 8, xid, ~0U, ~0U};
      return 0;
    }
  }
  return 10;
}

int nvmlDeviceGetMemoryInfo(Device device, nvmlMemory* memory) {
  Machine machine;
  Card card;
  const int status = enter("nvmlDeviceGetMemoryInfo", device, card, machine);
  if (status == 0) *memory = {card.total, card.total - card.used - kReserved, card.used + kReserved};
  return status;
}

int nvmlDeviceGetComputeRunningProcesses(Device device, unsigned int* count, nvmlProcessInfoV1* infos) {
  return list("nvmlDeviceGetComputeRunningProcesses", false, device, count, infos,
              [](nvmlProcessInfoV1& info, const Process& p) { info = {p.pid, p.memory}; });
}

int nvmlDeviceGetGraphicsRunningProcesses(Device device, unsigned int* count, nvmlProcessInfoV1* infos) {
  return list("nvmlDeviceGetGraphicsRunningProcesses", true, device, count, infos,
              [](nvmlProcessInfoV1& info, const Process& p) { info = {p.pid, p.memory}; });
}

#ifndef K3D_FAKE_NVML_OLD
int nvmlDeviceGetMemoryInfo_v2(Device device, nvmlMemoryV2* memory) {
  Machine machine;
  Card card;
  if (memory->version != (sizeof(nvmlMemoryV2) | 2U << 24)) return 25;
  const int status = enter("nvmlDeviceGetMemoryInfo_v2", device, card, machine);
  if (status == 0) *memory = {memory->version, card.total, kReserved, card.total - card.used - kReserved, card.used};
  return status;
}

int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned int* count, nvmlProcessInfoV2* infos) {
  return list("nvmlDeviceGetComputeRunningProcesses_v2", false, device, count, infos,
              [](nvmlProcessInfoV2& info, const Process& p) { info = {p.pid, p.memory, ~0U, ~0U}; });
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned int* count, nvmlProcessInfoV2* infos) {
  return list("nvmlDeviceGetGraphicsRunningProcesses_v2", true, device, count, infos,
              [](nvmlProcessInfoV2& info, const Process& p) { info = {p.pid, p.memory, ~0U, ~0U}; });
}
#endif
}
