#include "api/contract/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

template <class T>
using Word = std::pair<T, std::string_view>;

constexpr std::array<Word<Verdict>, 4> kVerdicts{{{Verdict::all_vram, "all_vram"},
                                                  {Verdict::hybrid, "hybrid"},
                                                  {Verdict::too_big, "too_big"},
                                                  {Verdict::blocked, "blocked"}}};
constexpr std::array<Word<Proof>, 4> kProofs{
    {{Proof::no, "no"}, {Proof::elsewhere, "elsewhere"}, {Proof::here, "here"}, {Proof::blocked, "blocked"}}};
constexpr std::array<Word<PlanBasis>, 3> kBases{
    {{PlanBasis::computed, "computed"}, {PlanBasis::measured, "measured"}, {PlanBasis::engine, "engine"}}};
constexpr std::array<Word<PlacementMode>, 4> kModes{{{PlacementMode::fit, "fit"},
                                                     {PlacementMode::n_cpu_moe, "n_cpu_moe"},
                                                     {PlacementMode::override_tensors, "override"},
                                                     {PlacementMode::pinned, "pinned"}}};
using Resource = PlanBreak::Resource;
constexpr std::array<Word<Resource>, 6> kResources{{{Resource::vram, "vram"},
                                                    {Resource::ram, "ram"},
                                                    {Resource::disk, "disk"},
                                                    {Resource::context, "context"},
                                                    {Resource::flag, "flag"},
                                                    {Resource::quant, "quant"}}};

template <class T, std::size_t N>
std::string_view word_of(const std::array<Word<T>, N>& words, T value) {
  const auto found = std::ranges::find_if(words, [value](const Word<T>& word) { return word.first == value; });
  return found == words.end() ? std::string_view() : found->second;
}

// ---- writing --------------------------------------------------------------------------------------------------------

/// 12, not 12.0.
Json plain(double number) {
  const bool whole = std::abs(number) < 1e15 && number == std::floor(number);
  return whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
}

Json plain_list(const std::vector<double>& numbers) {
  Json out = Json::array();
  for (const double number : numbers) out.push_back(plain(number));
  return out;
}

Json break_object(const PlanBreak& broken) {
  const bool counted = broken.need_bytes != 0 || broken.have_bytes != 0;
  Json out = Json::object();
  out["resource"] = word_of(kResources, broken.resource);
  out["device"] = number_or_null(broken.device);
  out["need_bytes"] = counted ? Json(broken.need_bytes) : Json(nullptr);
  out["have_bytes"] = counted ? Json(broken.have_bytes) : Json(nullptr);
  return out;
}

Json host_object(const PlannedHost& host) {
  const bool known = host.ram_bytes != 0;
  Json out = Json::object();
  out["model_bytes"] = host.model_bytes;
  out["context_bytes"] = host.context_bytes;
  out["compute_bytes"] = host.compute_bytes;
  out["cache_bytes"] = host.cache_bytes;
  out["ram_bytes"] = known ? Json(host.ram_bytes) : Json(nullptr);
  out["left_bytes"] = known ? Json(host.left_bytes) : Json(nullptr);
  return out;
}

Json placement_object(const PlannedPlacement& placement) {
  Json out = Json::object();
  out["mode"] = word_of(kModes, placement.mode);
  out["n_cpu_moe"] = number_or_null(placement.n_cpu_moe);
  out["tensor_split"] = plain_list(placement.tensor_split);
  out["fit_target_mib"] = placement.fit_target_mib;
  out["tensors"] = placement.tensors;
  out["cpu_expert_layers"] = placement.cpu_expert_layers;
  return out;
}

Json capacity_object(const Capacity& capacity) {
  Json out = Json::object();
  out["context"] = capacity.context;
  out["cache_type"] = capacity.cache_type;
  out["sequences"] = capacity.sequences;
  return out;
}

template <class T, class Make>
Json list_of(const std::vector<T>& items, Make make) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(make(item));
  return out;
}

Json files_object(const PlanAnswer& answer) {
  Json out = Json::object();
  out["shards"] = answer.plan.shards;
  out["total_bytes"] = answer.plan.total_bytes;
  out["present_bytes"] = answer.present_bytes;
  return out;
}

}  // namespace

Json planned_device_object(const PlannedDevice& device) {
  Json out = Json::object();
  out["index"] = device.index;
  out["layers"] = plain(device.layers);
  out["model_bytes"] = device.model_bytes;
  out["context_bytes"] = device.context_bytes;
  out["compute_bytes"] = device.compute_bytes;
  out["reserve_bytes"] = device.reserve_bytes;
  out["free_bytes"] = device.free_bytes;
  out["left_bytes"] = device.left_bytes;
  return out;
}

std::string_view to_string(Verdict verdict) { return word_of(kVerdicts, verdict); }
std::string_view to_string(Proof proof) { return word_of(kProofs, proof); }

Json plan_object(const PlanAnswer& answer) {
  const Plan& plan = answer.plan;
  Json out = Json::object();
  out["verdict"] = to_string(plan.verdict);
  out["reasons"] = plan.reasons;
  out["warnings"] = plan.warnings;
  out["breaks"] = list_of(plan.breaks, break_object);
  out["files"] = files_object(answer);
  out["devices"] = list_of(plan.devices, planned_device_object);
  out["host"] = host_object(plan.host);
  out["placement"] = placement_object(plan.placement);
  out["batch"] = plan.batch == 0 ? Json(nullptr) : Json(plan.batch);
  out["ubatch"] = plan.ubatch == 0 ? Json(nullptr) : Json(plan.ubatch);
  out["capacity"] = list_of(plan.capacity, capacity_object);
  out["argv"] = answer.argv;
  out["load_seconds"] = number_or_null(plan.load_seconds);
  out["basis"] = word_of(kBases, plan.basis);
  out["proven"] = answer.proof ? Json(to_string(*answer.proof)) : Json(nullptr);
  return out;
}

std::string plan_json(const PlanAnswer& answer) { return dump_json(plan_object(answer)); }

// ---- reading what plan_object writes --------------------------------------------------------------------------------

namespace {

Bytes bytes_at(const Json& object, const char* key) {
  const Json& value = json_member(object, key);
  return value.is_number_unsigned() ? value.get<Bytes>() : 0;
}

std::int64_t signed_at(const Json& object, const char* key) { return json_int(object, key).value_or(0); }

int int_at(const Json& object, const char* key) {
  const std::int64_t value = signed_at(object, key);
  return std::in_range<int>(value) ? static_cast<int>(value) : 0;
}

std::optional<int> int_or_nothing(const Json& object, const char* key) {
  return json_int(object, key) ? std::optional(int_at(object, key)) : std::nullopt;
}

double number_of(const Json& value) { return value.is_number() ? value.get<double>() : 0; }

std::vector<std::string> texts_at(const Json& object, const char* key) {
  std::vector<std::string> out;
  for (const Json& item : json_member(object, key)) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

template <class T, std::size_t N>
std::optional<T> read_word(const std::array<Word<T>, N>& words, const Json& object, const char* key) {
  const std::string text = json_string(object, key).value_or("");
  const auto found = std::ranges::find_if(words, [&text](const Word<T>& word) { return word.second == text; });
  return found == words.end() ? std::nullopt : std::optional(found->first);
}

PlannedDevice device_from(const Json& object) {
  return {int_at(object, "index"),           number_of(json_member(object, "layers")),
          bytes_at(object, "model_bytes"),   bytes_at(object, "context_bytes"),
          bytes_at(object, "compute_bytes"), bytes_at(object, "reserve_bytes"),
          bytes_at(object, "free_bytes"),    signed_at(object, "left_bytes")};
}

PlannedHost host_from(const Json& object) {
  return {bytes_at(object, "model_bytes"), bytes_at(object, "context_bytes"), bytes_at(object, "compute_bytes"),
          bytes_at(object, "cache_bytes"), bytes_at(object, "ram_bytes"),     signed_at(object, "left_bytes")};
}

PlannedPlacement placement_from(const Json& object) {
  PlannedPlacement placement;
  placement.mode = read_word(kModes, object, "mode").value_or(PlacementMode::fit);
  placement.n_cpu_moe = int_or_nothing(object, "n_cpu_moe");
  for (const Json& share : json_member(object, "tensor_split")) placement.tensor_split.push_back(number_of(share));
  for (const Json& mib : json_member(object, "fit_target_mib")) {
    placement.fit_target_mib.push_back(static_cast<int>(number_of(mib)));
  }
  placement.tensors = texts_at(object, "tensors");
  placement.cpu_expert_layers = int_at(object, "cpu_expert_layers");
  return placement;
}

PlanBreak break_from(const Json& object) {
  return {read_word(kResources, object, "resource").value_or(Resource::flag), int_or_nothing(object, "device"),
          bytes_at(object, "need_bytes"), bytes_at(object, "have_bytes")};
}

void read_lists(const Json& object, Plan& plan) {
  plan.reasons = texts_at(object, "reasons");
  plan.warnings = texts_at(object, "warnings");
  for (const Json& item : json_member(object, "breaks")) plan.breaks.push_back(break_from(item));
  for (const Json& item : json_member(object, "devices")) plan.devices.push_back(device_from(item));
  for (const Json& item : json_member(object, "capacity")) {
    plan.capacity.push_back(
        {int_at(item, "context"), json_string(item, "cache_type").value_or(""), int_at(item, "sequences")});
  }
}

}  // namespace

Result<PlanAnswer> plan_from_json(std::string_view text) {
  const Result<Json> object = parse_json(text);
  const auto verdict = object ? read_word(kVerdicts, *object, "verdict") : std::nullopt;
  if (!verdict) return fail(Code::protocol, "the answer is no plan", "k3ctl and k3d should be of one version");
  PlanAnswer answer;
  Plan& plan = answer.plan;
  plan.verdict = *verdict;
  read_lists(*object, plan);
  plan.host = host_from(json_member(*object, "host"));
  plan.placement = placement_from(json_member(*object, "placement"));
  plan.batch = int_at(*object, "batch");
  plan.ubatch = int_at(*object, "ubatch");
  const Json& files = json_member(*object, "files");
  plan.shards = int_at(files, "shards");
  plan.total_bytes = bytes_at(files, "total_bytes");
  answer.present_bytes = bytes_at(files, "present_bytes");
  answer.argv = texts_at(*object, "argv");
  const Json& load = json_member(*object, "load_seconds");
  if (load.is_number()) plan.load_seconds = load.get<double>();
  plan.basis = read_word(kBases, *object, "basis").value_or(PlanBasis::computed);
  answer.proof = read_word(kProofs, *object, "proven");
  return answer;
}

}  // namespace k3d::api
