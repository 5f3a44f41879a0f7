#include "daemon/adapters/nvml_calls.hpp"

#include <dlfcn.h>

namespace k3d::adapters::nvml_api {
namespace {

std::string hint_for(int status) {
  if (status == kGpuIsLost || status == kResetRequired) {
    return "look at `dmesg | grep Xid`; the GPU may need a reset, or the host a reboot";
  }
  if (status == kVersionMismatch) return "the driver's library and its kernel module differ: reboot the host after an update";
  return "look at `nvidia-smi`";
}

/// _v2 before _v3: they give the same, but some drivers of R535 had a longer record under the name of _v3.
void load_lists(const auto& get, ProcessCalls& calls, const std::string& name) {
  get(calls.v1, name.c_str(), true);
  get(calls.v2, (name + "_v2").c_str(), false);
  if (!calls.v2) get(calls.v2, (name + "_v3").c_str(), false);
}

void load_details(const auto& get, Calls& calls) {
  get(calls.driver_version, "nvmlSystemGetDriverVersion", false);
  get(calls.capability, "nvmlDeviceGetCudaComputeCapability", false);
  get(calls.mig, "nvmlDeviceGetMigMode", false);
  get(calls.ecc, "nvmlDeviceGetEccMode", false);
  get(calls.ecc_errors, "nvmlDeviceGetTotalEccErrors", false);
  get(calls.event_set, "nvmlEventSetCreate", false);
  get(calls.event_set_free, "nvmlEventSetFree", false);
  get(calls.listen, "nvmlDeviceRegisterEvents", false);
  get(calls.next_event, "nvmlEventSetWait_v2", false);
}

}  // namespace

std::string Calls::load(void* library) {
  std::string missing;
  const auto get = [library, &missing](auto& call, const char* symbol, bool needed) {
    call = reinterpret_cast<std::decay_t<decltype(call)>>(::dlsym(library, symbol));
    if (needed && !call) missing += std::string(missing.empty() ? "" : ", ") + symbol;
  };
  get(init, "nvmlInit_v2", true);
  get(shutdown, "nvmlShutdown", true);
  get(words, "nvmlErrorString", true);
  get(count, "nvmlDeviceGetCount_v2", true);
  get(device, "nvmlDeviceGetHandleByIndex_v2", true);
  get(pci, "nvmlDeviceGetPciInfo_v3", true);
  get(uuid, "nvmlDeviceGetUUID", true);
  get(name, "nvmlDeviceGetName", true);
  get(utilization, "nvmlDeviceGetUtilizationRates", true);
  get(memory_v1, "nvmlDeviceGetMemoryInfo", true);
  get(memory_v2, "nvmlDeviceGetMemoryInfo_v2", false);
  load_lists(get, compute, "nvmlDeviceGetComputeRunningProcesses");
  load_lists(get, graphics, "nvmlDeviceGetGraphicsRunningProcesses");
  load_details(get, *this);
  return missing;
}

std::unexpected<Error> Calls::refused(const std::string& what, int status) const {
  const char* text = words(status);
  return fail(Code::unreachable, "the NVIDIA driver can't tell " + what, hint_for(status),
              text == nullptr ? "status " + std::to_string(status) : text);
}

}  // namespace k3d::adapters::nvml_api
