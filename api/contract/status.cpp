#include "api/contract/status.hpp"

#include "api/contract/plan.hpp"
#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

/// How many ended operations a status names beside the running ones: enough to see how the last ones went.
constexpr std::size_t kEndedOperations = 10;

/// Without a plan nothing is known of any device.
Json planned_object(const Plan* plan) {
  Json out = Json::object();
  out["devices"] = Json::array();
  out["cpu_expert_layers"] = plan == nullptr ? 0 : plan->placement.cpu_expert_layers;
  if (plan == nullptr) return out;
  for (const PlannedDevice& device : plan->devices) out["devices"].push_back(planned_device_object(device));
  return out;
}

Json memory_object(const MeasuredMemory::Part& part) {
  Json out = Json::object();
  out["model_bytes"] = part.model_bytes;
  out["context_bytes"] = part.context_bytes;
  out["compute_bytes"] = part.compute_bytes;
  return out;
}

Json measured_object(const MeasuredMemory& measured) {
  Json out = Json::object();
  out["devices"] = Json::array();
  for (const MeasuredMemory::Part& device : measured.devices) out["devices"].push_back(memory_object(device));
  out["host"] = memory_object(measured.host);
  return out;
}

Json engine_object(const EngineView& engine) {
  Json out = Json::object();
  out["container_id"] = text_or_null(engine.container_id.value);
  out["container_name"] = text_or_null(engine.container_name);
  out["attempt"] = engine.attempt;
  out["image"] = text_or_null(engine.image);
  out["argv"] = Json(engine.argv);
  out["started_at"] = time_or_null(engine.started_at);
  out["ready_at"] = time_or_null(engine.ready_at);
  out["restarts"] = engine.restarts;
  out["adopted"] = engine.adopted;
  out["spec_matches"] = engine.spec_matches;
  out["planned"] = planned_object(engine.planned.get());
  out["measured"] = engine.measured ? measured_object(*engine.measured) : Json(nullptr);
  return out;
}

Json load_object(const LoadView& load) {
  Json out = Json::object();
  out["done_bytes"] = load.done_bytes;
  out["total_bytes"] = load.total_bytes;
  out["fraction"] = load.fraction;
  out["eta_seconds"] = number_or_null(load.eta_seconds);
  return out;
}

Json gpu_process_object(const GpuProcess& process) {
  Json out = Json::object();
  out["pid"] = process.pid;
  out["name"] = text_or_null(process.name);
  out["memory_bytes"] = bytes_or_null(process.memory_bytes);
  out["container"] = text_or_null(process.container);
  out["ours"] = process.ours;
  return out;
}

Json backoff_object(const BackoffView& backoff) {
  Json out = Json::object();
  out["attempt"] = backoff.attempt;
  out["limit"] = backoff.limit;
  out["retry_at"] = time_or_null(backoff.retry_at);
  return out;
}

Json remedy_object(const Remedy& remedy) {
  Json out = Json::object();
  out["text"] = remedy.text;
  out["set"] = overrides_object(remedy.set);
  return out;
}

Json proxy_object(const ProxyView& proxy) {
  Json out = Json::object();
  out["listen"] = Json(proxy.listen);
  out["in_flight"] = proxy.in_flight;
  out["queued"] = proxy.queued;
  out["oldest_wait_seconds"] = number_or_null(proxy.oldest_wait_seconds);
  return out;
}

/// All that go on and the newest that ended, in the snapshot's order.
Json brief_operations(const std::vector<Operation>& operations) {
  Json out = Json::array();
  std::size_t ended = 0;
  for (const Operation& operation : operations) {
    if (operation.ended() && ++ended > kEndedOperations) continue;
    Json brief = Json::object();
    brief["id"] = operation.id.value;
    brief["kind"] = to_string(operation.kind);
    brief["state"] = to_string(operation.state);
    out.push_back(std::move(brief));
  }
  return out;
}

}  // namespace

Json gpu_object(const GpuState& gpu) {
  Json out = Json::object();
  out["index"] = gpu.index;
  out["uuid"] = gpu.uuid;
  out["name"] = gpu.name;
  out["memory_total_bytes"] = gpu.memory_total_bytes;
  out["memory_used_bytes"] = gpu.memory_used_bytes;
  out["utilization_percent"] = gpu.utilization_percent;
  out["processes"] = Json::array();
  for (const GpuProcess& process : gpu.processes) out["processes"].push_back(gpu_process_object(process));
  return out;
}

Json failure_object(const Failure& failure) {
  Json out = Json::object();
  out["code"] = failure.code;
  out["title"] = text_or_null(failure.title);
  out["detail"] = text_or_null(failure.detail);
  out["advice"] = text_or_null(failure.advice);
  out["remedy"] = failure.remedy ? remedy_object(*failure.remedy) : Json(nullptr);
  out["profile"] = text_or_null(failure.profile);
  out["operation_id"] = text_or_null(failure.operation_id);
  out["attempt"] = failure.attempt == 0 ? Json(nullptr) : Json(failure.attempt);
  out["exit_code"] = number_or_null(failure.exit_code);
  out["retryable"] = failure.retryable;
  out["log_excerpt"] = Json(failure.log_excerpt);
  out["at"] = time_or_null(failure.at);
  return out;
}

Json condition_object(const Condition& condition) {
  Json out = Json::object();
  out["code"] = condition.code;
  out["severity"] = to_string(condition.severity);
  out["since"] = time_or_null(condition.since);
  out["title"] = text_or_null(condition.title);
  out["detail"] = text_or_null(condition.detail);
  out["advice"] = text_or_null(condition.advice);
  return out;
}

std::string status_json(const Snapshot& snapshot) {
  Json out = Json::object();
  out["revision"] = snapshot.revision;
  out["version"] = snapshot.version;
  out["instance"] = snapshot.instance;
  out["phase"] = to_string(snapshot.phase);
  out["phase_since"] = time_or_null(snapshot.phase_since);
  out["active_profile"] = text_or_null(snapshot.active_profile);
  out["target_profile"] = text_or_null(snapshot.target_profile);
  out["held_by"] = text_or_null(snapshot.held_by);
  out["engine"] = snapshot.engine ? engine_object(*snapshot.engine) : Json(nullptr);
  out["load"] = load_object(snapshot.load);
  out["backoff"] = snapshot.backoff ? backoff_object(*snapshot.backoff) : Json(nullptr);
  out["last_failure"] = snapshot.last_failure ? failure_object(*snapshot.last_failure) : Json(nullptr);
  out["conditions"] = Json::array();
  for (const Condition& condition : snapshot.conditions) out["conditions"].push_back(condition_object(condition));
  out["gpus"] = Json::array();
  for (const GpuState& gpu : snapshot.gpus) out["gpus"].push_back(gpu_object(gpu));
  out["proxy"] = proxy_object(snapshot.proxy);
  out["operations"] = brief_operations(snapshot.operations);
  return dump_json(out);
}

std::string log_event_json(std::uint64_t attempt, std::string_view line) {
  Json out = Json::object();
  out["attempt"] = attempt;
  out["line"] = std::string(line);
  return dump_json(out);
}

}  // namespace k3d::api
