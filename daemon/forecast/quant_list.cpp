#include "daemon/forecast/quant_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "daemon/forecast/proof_of_plan.hpp"
#include "daemon/forecast/study.hpp"
#include "daemon/hub/model_files.hpp"

namespace k3d::forecast {
namespace {

namespace fs = std::filesystem;

/// Of each GPU, for context, buffers and margin, where nothing better is known.
constexpr Bytes kBesidesWeights = 6 * kGiB;

/// Model and quant.
using Name = std::pair<std::string, std::string>;

void add_folders(const Settings& settings, const Model& model, std::set<Name>& names) {
  for (const fs::path& folder : hub::quant_folders(settings, model, {})) {
    std::error_code ec;
    for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
      const std::string quant = at->path().filename().string();
      if (present_bytes(settings, model.name, quant) > 0) names.emplace(model.name, quant);
    }
  }
}

std::set<Name> names_of(const Settings& settings) {
  std::set<Name> names;
  for (const auto& [name, model] : settings.models) {
    if (!model.path.empty()) {
      names.emplace(name, "");
      continue;
    }
    const auto known = settings.quants.find(name);
    if (known != settings.quants.end()) {
      for (const auto& [quant, entry] : known->second) names.emplace(name, quant);
    }
    add_folders(settings, model, names);
  }
  for (const Profile& profile : settings.profiles) {
    if (!profile.quant.empty()) names.emplace(profile.model, profile.quant);
  }
  return names;
}

const QuantEntry* entry_of(const Settings& settings, const Name& name) {
  const auto model = settings.quants.find(name.first);
  if (model == settings.quants.end()) return nullptr;
  const auto entry = model->second.find(name.second);
  return entry == model->second.end() ? nullptr : &entry->second;
}

/// What the catalogue says of a quant whose files aren't here.
void from_catalogue(const Settings& settings, const Hardware& hardware, const Name& name, QuantView& view) {
  const QuantEntry* entry = entry_of(settings, name);
  if (entry == nullptr) return;
  if (entry->total_bytes > 0) view.total_bytes = entry->total_bytes;
  by_size(hardware, view);
  const planning::ModelHeaders types = headers_of(*entry);
  const auto judged = planning::judge(types, settings.quants, name.first, name.second, hardware.models());
  if (!types.tensors.empty() || judged.blocked) view.proof = proof_of(judged);
  if (judged.blocked) view.verdict = Verdict::blocked;
  view.reasons.insert(judged.blocked ? view.reasons.begin() : view.reasons.end(), judged.reasons.begin(),
                      judged.reasons.end());
}

void from_plan(const PlanAnswer& answer, QuantView& view) {
  view.total_bytes = answer.plan.total_bytes;
  view.present_bytes = answer.present_bytes;
  view.verdict = answer.plan.verdict;
  view.reasons = answer.plan.reasons;
  view.proof = answer.proof;
}

QuantView view_of(HeadersCache& cache, const std::shared_ptr<const Settings>& settings, const Name& name,
                  const std::optional<Hardware>& hardware) {
  QuantView view;
  view.model = name.first;
  view.quant = name.second;
  view.present_bytes = present_bytes(*settings, name.first, name.second);
  Study study{settings, {}, {}, hardware.value_or(Hardware())};
  study.profile.model = name.first;
  study.profile.quant = name.second;
  const Result<PlanAnswer> answer = work_out(cache, study);
  if (answer) {
    from_plan(*answer, view);
  } else if (answer.error().code == Code::files_missing) {
    from_catalogue(*settings, study.hardware, name, view);
  } else {
    view.reasons.push_back(answer.error().message);
  }
  if (!hardware) {
    if (view.verdict != Verdict::blocked) view.verdict.reset();
    view.reasons.emplace_back("the GPUs can't be read now");
  }
  return view;
}

}  // namespace

void by_size(const Hardware& hardware, QuantView& view) {
  if (!view.total_bytes) return;
  Bytes vram = 0;
  for (const planning::GpuMemory& gpu : hardware.gpus) {
    vram += gpu.free_bytes > kBesidesWeights ? gpu.free_bytes - kBesidesWeights : 0;
  }
  const bool resident = *view.total_bytes <= vram;
  if (!resident && !hardware.ram) return;
  const Bytes ram = hardware.ram ? hardware.ram->available_bytes : 0;
  view.verdict = resident ? Verdict::all_vram : *view.total_bytes <= vram + ram ? Verdict::hybrid : Verdict::too_big;
  view.reasons.push_back(fmt::format("by its size alone, since its files aren't here: {} of weights; room for {} on {} GPUs, "
                                     "{} of host RAM available",
                                     format_bytes(*view.total_bytes), format_bytes(vram), hardware.gpus.size(),
                                     hardware.ram ? format_bytes(ram) : "an unknown amount"));
}

std::vector<QuantView> list_quants(HeadersCache& cache, const std::shared_ptr<const Settings>& settings,
                                   const std::optional<Hardware>& hardware) {
  std::vector<QuantView> views;
  for (const Name& name : names_of(*settings)) views.push_back(view_of(cache, settings, name, hardware));
  std::ranges::sort(views, {}, [](const QuantView& v) { return std::tuple(v.model, v.total_bytes.value_or(0), v.quant); });
  return views;
}

}  // namespace k3d::forecast
