#include "api/k3ctl/plan_offline.hpp"

#include <memory>

#include "daemon/base/json.hpp"
#include "daemon/planning/gguf_reader.hpp"
#include "daemon/planning/planner.hpp"
#include "daemon/planning/proof.hpp"

namespace k3d::cli {
namespace {

std::optional<int> number_at(const Overrides& set, const char* key) {
  const auto found = set.find(key);
  if (found == set.end()) return std::nullopt;
  const Result<Json> value = parse_json(found->second);
  return value && value->is_number_integer() ? std::optional(value->get<int>()) : std::nullopt;
}

std::vector<int> numbers_at(const Overrides& set, const char* key) {
  if (const auto one = number_at(set, key)) return {*one};
  const auto found = set.find(key);
  const Result<Json> list = found == set.end() ? Json() : parse_json(found->second);
  std::vector<int> numbers;
  if (!list || !list->is_array()) return numbers;
  for (const Json& item : *list) {
    if (item.is_number_integer()) numbers.push_back(item.get<int>());
  }
  return numbers;
}

void place(const PlanQuestion& question, Profile& profile) {
  if (question.placement) profile.placement = *question.placement;
  if (!question.tensor_split.empty()) {
    if (!question.placement) {
      profile.placement.mode = PlacementMode::n_cpu_moe;
      profile.placement.n_cpu_moe = 0;
    }
    profile.placement.tensor_split = question.tensor_split;
  }
  profile.placement.fit_target_mib = numbers_at(question.set, "fit_target_mib");
}

Profile profile_of(const PlanQuestion& question) {
  Profile profile;
  profile.context = number_at(question.set, "context").value_or(profile.context);
  profile.slots = number_at(question.set, "slots").value_or(profile.slots);
  profile.batch = number_at(question.set, "batch");
  profile.ubatch = number_at(question.set, "ubatch");
  const auto cache = question.set.find("cache_type");
  if (cache != question.set.end()) profile.cache_type = cache->second;
  place(question, profile);
  return profile;
}

void warn_of_kernels(const planning::ModelHeaders& model, Plan& plan) {
  if (!planning::judge(model, {}, {}, {}, {"a GPU"}).needs_proof) return;
  plan.warnings.emplace_back("it has IQ or TQ types: a daemon's plan says whether their kernels are proven on its GPUs");
}

}  // namespace

Result<PlanAnswer> plan_offline(const PlanQuestion& question) {
  Result<planning::ModelHeaders> model = planning::read_model(question.path);
  if (!model) return fail(model.error());
  planning::PlanInputs inputs;
  inputs.profile = profile_of(question);
  inputs.model = std::make_shared<const planning::ModelHeaders>(std::move(*model));
  for (const AskedGpu& gpu : *question.gpus) {
    inputs.gpus.push_back({static_cast<int>(inputs.gpus.size()), gpu.total_bytes, gpu.free_bytes});
  }
  if (question.ram_bytes) inputs.ram = planning::HostRam{*question.ram_bytes, *question.ram_bytes};
  PlanAnswer answer;
  answer.plan = planning::plan(inputs);
  answer.present_bytes = answer.plan.total_bytes;
  warn_of_kernels(*inputs.model, answer.plan);
  return answer;
}

}  // namespace k3d::cli
