// NVML's functions as they are found in its library, with the few of its types that k3d needs declared here: its header
// is in no Debian package. For the GPU process alone: every call blocks, and may hang in the driver.
#pragma once

#include <string>
#include <type_traits>

#include "daemon/base/result.hpp"

namespace k3d::adapters::nvml_api {

using Device = struct nvmlDevice_st*;
using Number = unsigned long long;

// Of nvmlReturn_t.
inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 3;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kDriverNotLoaded = 9;
inline constexpr int kTimeout = 10;
inline constexpr int kFunctionNotFound = 13;
inline constexpr int kGpuIsLost = 15;
inline constexpr int kResetRequired = 16;
inline constexpr int kVersionMismatch = 18;

inline constexpr Number kNotAvailable = ~Number{0};

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
inline constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2U << 24;

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

/// nvmlEventData_t.
struct EventData {
  Device device;
  Number type, data;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(EventData) == 32);
using EventSet = struct nvmlEventSet_st*;
inline constexpr Number kXid = 8;  ///< nvmlEventTypeXidCriticalError

// Of nvmlMemoryErrorType_t and nvmlEccCounterType_t.
inline constexpr int kUncorrected = 1;
inline constexpr int kVolatile = 0;

template <class Record>
using ListCall = int (*)(Device, unsigned*, Record*);

struct ProcessCalls {
  ListCall<ProcessV2> v2 = nullptr;
  ListCall<ProcessV1> v1 = nullptr;
};

struct Calls {
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
  // Only the doctor asks these, and a library may lack them.
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*capability)(Device, int* major, int* minor) = nullptr;
  int (*mig)(Device, unsigned* current, unsigned* pending) = nullptr;
  int (*ecc)(Device, int* current, int* pending) = nullptr;
  int (*ecc_errors)(Device, int error, int counter, Number* count) = nullptr;
  int (*event_set)(EventSet*) = nullptr;
  int (*event_set_free)(EventSet) = nullptr;
  int (*listen)(Device, Number types, EventSet) = nullptr;
  int (*next_event)(EventSet, EventData*, unsigned milliseconds) = nullptr;

  /// The names that are missing.
  std::string load(void* library);
  /// Error unreachable, in the driver's words.
  [[nodiscard]] std::unexpected<Error> refused(const std::string& what, int status) const;
};

}  // namespace k3d::adapters::nvml_api
