#include "daemon/forecast/proof_of_plan.hpp"

#include "daemon/planning/ggml_types.hpp"

namespace k3d::forecast {
namespace {

/// Its reasons come first: nothing else about the plan matters as much.
void block(const std::vector<std::string>& reasons, Plan& plan) {
  plan.verdict = Verdict::blocked;
  plan.reasons.insert(plan.reasons.begin(), reasons.begin(), reasons.end());
  plan.breaks.insert(plan.breaks.begin(), PlanBreak{PlanBreak::Resource::quant, std::nullopt, 0, 0});
}

}  // namespace

Proof proof_of(const planning::Proof& judged) {
  if (judged.blocked) return Proof::blocked;
  return judged.proven == planning::Proven::elsewhere ? Proof::elsewhere : Proof::no;
}

void apply_proof(const planning::Proof& judged, const Profile* profile, Plan& plan) {
  if (judged.blocked) return block(judged.reasons, plan);
  if (!judged.needs_proof) return;
  if (judged.proven == planning::Proven::elsewhere) {
    plan.reasons.insert(plan.reasons.end(), judged.reasons.begin(), judged.reasons.end());
    return;
  }
  plan.warnings.insert(plan.warnings.end(), judged.reasons.begin(), judged.reasons.end());
  if (profile == nullptr || profile->allow_unproven || plan.devices.empty()) return;
  plan.warnings.emplace_back("unproven, it serves only with allow_unproven: true, or started with \"accept_risk\"");
  plan.breaks.push_back({PlanBreak::Resource::quant, std::nullopt, 0, 0});
}

planning::ModelHeaders headers_of(const QuantEntry& entry) {
  planning::ModelHeaders headers;
  int layer = 0;
  for (const auto& [name, count] : entry.experts) {
    const planning::GgmlType* type = planning::ggml_type(std::string_view(name));
    if (type == nullptr) continue;
    planning::TensorInfo tensor;
    tensor.name = "blk." + std::to_string(layer++) + ".ffn_up_exps.weight";
    tensor.type = type->id;
    headers.tensors.push_back(std::move(tensor));
  }
  return headers;
}

}  // namespace k3d::forecast
