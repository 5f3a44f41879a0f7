#include "daemon/adapters/nvml_reading.hpp"

#include "daemon/base/json.hpp"

namespace k3d::adapters {
namespace {

Json object_of(const GpuProcess& process) {
  Json out = Json::object();
  out["pid"] = process.pid;
  out["name"] = process.name;
  if (process.memory_bytes) out["memory"] = *process.memory_bytes;
  out["container"] = process.container;
  return out;
}

Json object_of(const GpuState& gpu) {
  Json out = Json::object();
  out["index"] = gpu.index;
  out["uuid"] = gpu.uuid;
  out["name"] = gpu.name;
  out["total"] = gpu.memory_total_bytes;
  out["used"] = gpu.memory_used_bytes;
  out["utilization"] = gpu.utilization_percent;
  out["processes"] = Json::array();
  for (const GpuProcess& process : gpu.processes) out["processes"].push_back(object_of(process));
  return out;
}

Json object_of(const GpuFacts& facts) {
  Json out = object_of(facts.state);
  if (!facts.trouble.empty()) out["trouble"] = facts.trouble;
  if (facts.free_bytes) out["free"] = *facts.free_bytes;
  out["capability"] = facts.compute_capability;
  if (facts.mig) out["mig"] = *facts.mig;
  if (facts.ecc) out["ecc"] = *facts.ecc;
  if (facts.uncorrected_errors) out["uncorrected"] = *facts.uncorrected_errors;
  out["xids"] = facts.xids;
  return out;
}

Json object_of(const GpuReport& report) {
  Json out = Json::object();
  out["driver"] = report.driver_version;
  out["xids_heard"] = report.xids_heard;
  out["cards"] = Json::array();
  for (const GpuFacts& facts : report.gpus) out["cards"].push_back(object_of(facts));
  return out;
}

std::optional<Bytes> bytes_of(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  if (!member.is_number_unsigned()) return std::nullopt;
  return member.get<Bytes>();
}

int int_of(const Json& object, std::string_view key) { return static_cast<int>(json_int(object, key).value_or(0)); }

GpuProcess process_of(const Json& object) {
  return {int_of(object, "pid"), json_string(object, "name").value_or(""), bytes_of(object, "memory"),
          json_string(object, "container").value_or(""), false};
}

GpuState gpu_of(const Json& object) {
  GpuState gpu;
  gpu.index = int_of(object, "index");
  gpu.uuid = json_string(object, "uuid").value_or("");
  gpu.name = json_string(object, "name").value_or("");
  gpu.memory_total_bytes = bytes_of(object, "total").value_or(0);
  gpu.memory_used_bytes = bytes_of(object, "used").value_or(0);
  gpu.utilization_percent = int_of(object, "utilization");
  for (const Json& process : json_member(object, "processes")) gpu.processes.push_back(process_of(process));
  return gpu;
}

GpuFacts facts_of(const Json& object) {
  GpuFacts facts;
  facts.state = gpu_of(object);
  facts.trouble = json_string(object, "trouble").value_or("");
  facts.free_bytes = bytes_of(object, "free");
  facts.compute_capability = json_string(object, "capability").value_or("");
  facts.mig = json_bool(object, "mig");
  facts.ecc = json_bool(object, "ecc");
  facts.uncorrected_errors = bytes_of(object, "uncorrected");
  for (const Json& xid : json_member(object, "xids")) {
    if (xid.is_number_unsigned()) facts.xids.push_back(xid.get<unsigned>());
  }
  return facts;
}

std::optional<GpuReport> report_of(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  GpuReport report;
  report.driver_version = json_string(object, "driver").value_or("");
  report.xids_heard = json_bool(object, "xids_heard").value_or(false);
  for (const Json& card : json_member(object, "cards")) report.gpus.push_back(facts_of(card));
  return report;
}

}  // namespace

std::string line_of_reading(const NvmlReading& reading) {
  Json out = Json::object();
  if (!reading.no_driver.empty()) {
    out["no_driver"] = reading.no_driver;
  } else if (!reading.gpus) {
    const Error& error = reading.gpus.error();
    out["error"] = {{"message", error.message}, {"hint", error.hint}, {"cause", error.cause}};
  } else {
    out["gpus"] = Json::array();
    for (const GpuState& gpu : *reading.gpus) out["gpus"].push_back(object_of(gpu));
  }
  if (reading.report) out["report"] = object_of(*reading.report);
  return dump_json(out);
}

Result<NvmlReading> reading_of_line(std::string_view line) {
  const Result<Json> parsed = parse_json(line);
  if (!parsed) return fail(parsed.error());
  NvmlReading reading;
  if (const auto why = json_string(*parsed, "no_driver")) {
    reading.no_driver = *why;
    return reading;
  }
  reading.report = report_of(json_member(*parsed, "report"));
  if (const Json& error = json_member(*parsed, "error"); error.is_object()) {
    const auto text = [&error](const char* key) { return json_string(error, key).value_or(""); };
    reading.gpus = fail(Code::unreachable, text("message"), text("hint"), text("cause"));
    return reading;
  }
  const Json& gpus = json_member(*parsed, "gpus");
  if (!gpus.is_array()) return fail(Code::protocol, "the GPU process sends an unknown line");
  for (const Json& gpu : gpus) reading.gpus->push_back(gpu_of(gpu));
  return reading;
}

}  // namespace k3d::adapters
