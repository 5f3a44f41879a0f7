#include "daemon/planning/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "daemon/planning/ggml_types.hpp"
#include "daemon/planning/layer_weights.hpp"

namespace k3d::planning {
namespace {

using Names = std::set<std::string>;

Names types_of(const ModelHeaders& headers) {
  Names experts, all;
  for (const TensorInfo& tensor : headers.tensors) {
    const GgmlType* type = ggml_type(tensor.type);
    if (type == nullptr) continue;  // no reader lets one through
    all.emplace(type->name);
    if ((part_of(tensor.name) & kExperts) != 0) experts.emplace(type->name);
  }
  return experts.empty() ? all : experts;
}

bool needs_proof(const std::string& type) {
  return type.starts_with("IQ") || type.starts_with("TQ");
}

std::string words(const Names& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

const QuantEntry* find(const QuantCatalogue& catalogue, const std::string& model, const std::string& quant) {
  const auto quants = catalogue.find(model);
  if (quants == catalogue.end()) return nullptr;
  const auto entry = quants->second.find(quant);
  return entry == quants->second.end() ? nullptr : &entry->second;
}

template <class Visit>
void each_entry(const QuantCatalogue& catalogue, Visit visit) {
  for (const auto& [model, quants] : catalogue) {
    for (const auto& [quant, entry] : quants) visit(quant, entry);
  }
}

void add_broken_types(const QuantCatalogue& catalogue, const Names& types, Proof& proof) {
  Names broken;
  each_entry(catalogue, [&](const std::string&, const QuantEntry& entry) {
    for (const std::string& type : entry.broken_types) {
      if (types.contains(type)) broken.insert(type);
    }
  });
  if (broken.empty()) return;
  proof.blocked = true;
  proof.reasons.push_back("its experts have types whose kernels give wrong answers: " + words(broken));
}

/// The quant with which all of `types` passed the gate on that GPU model, or nothing.
std::string proven_by(const QuantCatalogue& catalogue, const Names& types, const std::string& gpu) {
  std::string found;
  each_entry(catalogue, [&](const std::string& quant, const QuantEntry& entry) {
    if (!found.empty() || std::ranges::count(entry.proven_on, gpu) == 0) return;
    if (std::ranges::all_of(types, [&](const std::string& type) { return entry.experts.contains(type); }))
      found = quant;
  });
  return found;
}

void look_elsewhere(const QuantCatalogue& catalogue, const Names& types, const Names& gpus, Proof& proof) {
  Names unproven;
  for (const std::string& gpu : gpus) {
    const std::string quant = proven_by(catalogue, types, gpu);
    if (quant.empty()) {
      unproven.insert(gpu);
      continue;
    }
    proof.reasons.push_back(fmt::format("{} passed the gate on {} elsewhere, with {}", words(types), gpu, quant));
  }
  if (gpus.empty()) proof.reasons.push_back(words(types) + " is not proven on this CPU");
  if (!unproven.empty()) proof.reasons.push_back(fmt::format("{} is not proven on {}", words(types), words(unproven)));
  if (!gpus.empty() && unproven.empty()) proof.proven = Proven::elsewhere;
}

}  // namespace

Proof judge(const ModelHeaders& headers, const QuantCatalogue& catalogue, const std::string& model,
            const std::string& quant, const std::vector<std::string>& gpus) {
  Proof proof;
  const Names types = types_of(headers);
  if (const QuantEntry* entry = find(catalogue, model, quant); entry != nullptr && !entry->blocked.empty()) {
    proof.blocked = true;
    proof.reasons.push_back(quant + " is blocked: " + entry->blocked);
  }
  if (!gpus.empty()) add_broken_types(catalogue, types, proof);
  Names to_prove;
  std::ranges::copy_if(types, std::inserter(to_prove, to_prove.end()), needs_proof);
  proof.needs_proof = !to_prove.empty();
  if (proof.needs_proof && !proof.blocked) look_elsewhere(catalogue, to_prove, {gpus.begin(), gpus.end()}, proof);
  return proof;
}

}  // namespace k3d::planning
