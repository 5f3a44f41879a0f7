#include "daemon/lifecycle/measured_memory.hpp"

#include <fmt/format.h>

#include <cmath>

#include "daemon/base/json.hpp"
#include "daemon/base/sha256.hpp"

namespace k3d::lifecycle {
namespace {

constexpr double kTolerance = 0.05;
/// Rounding and small tables of the engine: less is no difference.
constexpr Bytes kSmall = 256 * kMiB;

Json words_of(const LoadIdentity& identity, const Profile& profile) {
  Json words{{"image", identity.image},   {"files", identity.files},
             {"devices", identity.devices}, {"context", profile.context},
             {"slots", profile.slots},      {"batch", profile.batch.value_or(-1)},
             {"ubatch", profile.ubatch.value_or(-1)}, {"cache_type", profile.cache_type}};
  if (profile.speculative) {
    words["draft"] = profile.speculative->type + " " + std::to_string(profile.speculative->n_max);
    words["draft_device"] = profile.speculative->device;
  }
  return words;
}

Json part_words(const MeasuredMemory::Part& part) {
  return Json::array({part.model_bytes, part.context_bytes, part.compute_bytes});
}

std::optional<MeasuredMemory::Part> part_from(const Json& words) {
  if (!words.is_array() || words.size() != 3) return std::nullopt;
  for (const Json& word : words) {
    if (!word.is_number_unsigned()) return std::nullopt;
  }
  return MeasuredMemory::Part{words[0].get<Bytes>(), words[1].get<Bytes>(), words[2].get<Bytes>()};
}

MeasuredMemory::Part part_of(const engine::Buffers& buffers) { return {buffers.model, buffers.context, buffers.compute}; }

Bytes total(const MeasuredMemory::Part& part) { return part.model_bytes + part.context_bytes + part.compute_bytes; }
Bytes total(const PlannedDevice& device) { return device.model_bytes + device.context_bytes + device.compute_bytes; }
Bytes total(const PlannedHost& host) { return host.model_bytes + host.context_bytes + host.compute_bytes; }

bool is_apart(Bytes planned, Bytes measured) {
  const Bytes apart = planned > measured ? planned - measured : measured - planned;
  return apart > kSmall && static_cast<double>(apart) > kTolerance * static_cast<double>(planned);
}

void compare(const std::string& where, Bytes planned, Bytes measured, std::string& words) {
  if (!is_apart(planned, measured)) return;
  words += fmt::format("{}{}: {} planned, {} taken", words.empty() ? "" : "; ", where, format_bytes(planned),
                       format_bytes(measured));
}

void compare_devices(const Plan& plan, const MeasuredMemory& measured, std::string& words) {
  Bytes all_planned = 0, all_measured = 0;
  const bool forecast = plan.placement.mode == PlacementMode::fit;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const Bytes planned = total(plan.devices[i]);
    const Bytes taken = i < measured.devices.size() ? total(measured.devices[i]) : 0;
    all_planned += planned;
    all_measured += taken;
    if (!forecast) compare("GPU " + std::to_string(plan.devices[i].index), planned, taken, words);
  }
  if (forecast) compare("all GPUs together", all_planned, all_measured, words);
}

std::optional<std::vector<double>> numbers(const Json& list) {
  std::vector<double> out;
  if (!list.is_array()) return std::nullopt;
  for (const Json& item : list) {
    if (!item.is_number()) return std::nullopt;
    out.push_back(item.get<double>());
  }
  return out;
}

std::optional<std::vector<std::string>> texts(const Json& list) {
  std::vector<std::string> out;
  if (!list.is_array()) return std::nullopt;
  for (const Json& item : list) {
    if (!item.is_string()) return std::nullopt;
    out.push_back(item.get<std::string>());
  }
  return out;
}

}  // namespace

std::string measured_key(const LoadIdentity& identity, const Profile& launched) {
  Json words = words_of(identity, launched);
  const Placement& placement = launched.placement;
  words["mode"] = static_cast<int>(placement.mode);
  words["fit"] = placement.fit_target_mib;
  words["layers"] = placement.n_cpu_moe.value_or(-1);
  words["split"] = placement.tensor_split;
  words["tensors"] = placement.tensors;
  return "measured/" + sha256_hex(dump_json(words));
}

std::string pinned_key(const LoadIdentity& identity, const Profile& configured) {
  return "pinned/" + sha256_hex(dump_json(words_of(identity, configured)));
}

std::string load_rate_key(const std::string& files_identity) { return "load_rate/" + sha256_hex(files_identity); }

MeasuredMemory measured_of(const engine::LogSigns& signs) { return measured_of(engine::breakdown(signs)); }

MeasuredMemory measured_of(const engine::Breakdown& seen) {
  MeasuredMemory memory;
  for (const engine::Buffers& device : seen.devices) memory.devices.push_back(part_of(device));
  memory.host = part_of(seen.host);
  return memory;
}

Bytes spilled_beyond(const Plan& plan, const engine::LogSigns& signs) {
  const Bytes planned = plan.host.model_bytes, taken = engine::host_model_bytes(signs);
  const bool on_gpus = !plan.devices.empty() && signs.loaded;
  return on_gpus && taken > planned && is_apart(planned, taken) ? taken - planned : 0;
}

std::string to_text(const MeasuredMemory& memory) {
  Json devices = Json::array();
  for (const MeasuredMemory::Part& device : memory.devices) devices.push_back(part_words(device));
  return dump_json({{"devices", std::move(devices)}, {"host", part_words(memory.host)}});
}

std::optional<MeasuredMemory> measured_memory(std::string_view text) {
  const Result<Json> words = parse_json(text);
  if (!words) return std::nullopt;
  const Json& devices = json_member(*words, "devices");
  const auto host = part_from(json_member(*words, "host"));
  if (!devices.is_array() || !host) return std::nullopt;
  MeasuredMemory memory;
  memory.host = *host;
  for (const Json& device : devices) {
    const auto part = part_from(device);
    if (!part) return std::nullopt;
    memory.devices.push_back(*part);
  }
  return memory;
}

std::string to_text(const PinnedPlacement& pinned) {
  return dump_json({{"split", pinned.placed.tensor_split},
                    {"tensors", pinned.placed.tensors},
                    {"batch", pinned.batch},
                    {"ubatch", pinned.ubatch}});
}

std::optional<PinnedPlacement> pinned_placement(std::string_view text) {
  const Result<Json> words = parse_json(text);
  if (!words) return std::nullopt;
  auto split = numbers(json_member(*words, "split"));
  auto tensors = texts(json_member(*words, "tensors"));
  const auto batch = json_int(*words, "batch"), ubatch = json_int(*words, "ubatch");
  if (!split || !tensors || split->empty() || !batch || !ubatch) return std::nullopt;
  return PinnedPlacement{{std::move(*split), std::move(*tensors)}, static_cast<int>(*batch), static_cast<int>(*ubatch)};
}

std::optional<std::string> difference(const Plan& plan, const MeasuredMemory& measured) {
  std::string words;
  compare_devices(plan, measured, words);
  compare("host RAM", total(plan.host), total(measured.host), words);
  return words.empty() ? std::nullopt : std::optional(words);
}

}  // namespace k3d::lifecycle
