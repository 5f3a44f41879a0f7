#include "api/contract/host.hpp"

#include "api/contract/status.hpp"
#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

Json bool_or_null(const std::optional<bool>& value) { return value ? Json(*value) : Json(nullptr); }

/// What status tells of a GPU, and what only the doctor asks.
Json gpu_facts_object(const GpuFacts& gpu) {
  Json out = gpu_object(gpu.state);
  out["memory_free_bytes"] = bytes_or_null(gpu.free_bytes);
  out["compute_capability"] = text_or_null(gpu.compute_capability);
  out["mig"] = bool_or_null(gpu.mig);
  out["ecc"] = bool_or_null(gpu.ecc);
  out["uncorrected_errors"] = gpu.uncorrected_errors ? Json(*gpu.uncorrected_errors) : Json(nullptr);
  out["xids"] = Json(gpu.xids);
  out["trouble"] = text_or_null(gpu.trouble);
  return out;
}

Json driver_or_null(const HostReport& host) {
  const std::string version = host.gpus ? host.gpus->driver_version : "";
  if (version.empty() && !host.module) return nullptr;
  Json out = Json::object();
  out["version"] = text_or_null(version.empty() ? host.module->version : version);
  out["open_module"] = host.module ? Json(host.module->open) : Json(nullptr);
  return out;
}

Json cpu_or_null(const Known<CpuFacts>& cpu) {
  if (!cpu) return nullptr;
  Json out = Json::object();
  out["model"] = text_or_null(cpu->model);
  out["sockets"] = cpu->sockets;
  out["cores"] = cpu->cores;
  out["threads"] = cpu->threads;
  out["avx512"] = bool_or_null(cpu->avx512);
  out["amx"] = bool_or_null(cpu->amx);
  return out;
}

Json numa_or_null(const Known<NumaFacts>& numa) {
  if (!numa) return nullptr;
  Json out = Json::object();
  out["nodes"] = numa->nodes;
  out["balancing"] = numa->balancing ? Json(*numa->balancing) : Json(nullptr);
  return out;
}

Json memory_or_null(const Known<MemoryFacts>& memory) {
  if (!memory) return nullptr;
  Json out = Json::object();
  out["total_bytes"] = memory->total_bytes;
  out["available_bytes"] = memory->available_bytes;
  out["swap_total_bytes"] = memory->swap_total_bytes;
  out["swap_used_bytes"] = memory->swap_used_bytes;
  out["huge_pages_bytes"] = memory->huge_pages_bytes;
  return out;
}

Json disk_object(const DiskFacts& disk) {
  Json out = Json::object();
  const bool known = disk.total_bytes != 0;
  out["path"] = disk.path.string();
  out["total_bytes"] = known ? Json(disk.total_bytes) : Json(nullptr);
  out["free_bytes"] = known ? Json(disk.free_bytes) : Json(nullptr);
  out["filesystem"] = text_or_null(disk.filesystem);
  out["kind"] = disk.kind ? Json(to_string(*disk.kind)) : Json(nullptr);
  out["read_bytes_per_second"] = disk.read_speed ? Json(disk.read_speed->bytes_per_second) : Json(nullptr);
  return out;
}

Json docker_or_null(const Result<DockerFacts>& docker) {
  if (!docker) return nullptr;
  Json out = Json::object();
  out["version"] = docker->version;
  out["api_version"] = docker->api_version;
  out["cdi"] = docker->cdi;
  out["live_restore"] = docker->live_restore;
  return out;
}

Json check_object(const HostCheck& check) {
  Json out = Json::object();
  out["code"] = check.code;
  out["result"] = to_string(check.result);
  out["measured"] = text_or_null(check.measured);
  out["why"] = text_or_null(check.why);
  out["fix"] = text_or_null(check.fix);
  return out;
}

}  // namespace

std::string host_json(const HostDiagnosis& diagnosis) {
  const HostReport& host = diagnosis.facts;
  Json out = Json::object();
  out["taken_at"] = time_or_null(host.taken_at);
  out["gpus"] = Json::array();
  if (host.gpus) {
    for (const GpuFacts& gpu : host.gpus->gpus) out["gpus"].push_back(gpu_facts_object(gpu));
  }
  out["driver"] = driver_or_null(host);
  out["cpu"] = cpu_or_null(host.cpu);
  out["numa"] = numa_or_null(host.numa);
  out["memory"] = memory_or_null(host.memory);
  out["disks"] = Json::array();
  if (host.disks) {
    for (const DiskFacts& disk : *host.disks) out["disks"].push_back(disk_object(disk));
  }
  out["docker"] = docker_or_null(host.docker);
  out["tailscale_address"] = text_or_null(host.tailscale_address);
  out["checks"] = Json::array();
  for (const HostCheck& check : diagnosis.checks) out["checks"].push_back(check_object(check));
  return dump_json(out);
}

}  // namespace k3d::api
