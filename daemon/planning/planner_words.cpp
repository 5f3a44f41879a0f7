#include "daemon/planning/planner_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/planning/memory_beyond.hpp"
#include "daemon/planning/placement_experts.hpp"

namespace k3d::planning {
namespace {

/// The reference deployment peaks at 8 requests at once and loses speed beyond (16 and 32).
constexpr int kKneeSlots = 8;
/// A draft gained with 1 request (+23 to +72 %) and lost with 4 (14.9 against 18.3 tokens a second).
constexpr int kDraftSlots = 4;
/// A driver keeps some hundred MiB of every GPU for itself.
constexpr Bytes kDriverBytes = kGiB;

Bytes needed(const PlannedDevice& device) {
  return device.model_bytes + device.context_bytes + device.compute_bytes + device.reserve_bytes;
}

Bytes needed(const PlannedHost& host) {
  return host.model_bytes + host.context_bytes + host.compute_bytes;
}

Bytes left(std::int64_t bytes) {
  return bytes > 0 ? static_cast<Bytes>(bytes) : 0;
}

/// What a device holds in any case: nobody is refused for a figure that is known to be more than the engine takes, nor
/// for scratch that a fit leaves a margin for.
Bytes held_for_sure(const PlanFacts& facts, const PlannedDevice& device) {
  const Architecture& model = facts.model.architecture();
  Bytes sure = device.model_bytes;
  if (!model.sliding_window) sure += device.context_bytes;
  if (model.name == "kimi-k3" || facts.inputs.measured) sure += device.compute_bytes;
  if (facts.solution.planned.mode != PlacementMode::fit) sure += device.reserve_bytes;
  return sure;
}

void find_breaks(const PlanFacts& facts, Plan& plan) {
  for (const PlannedDevice& device : plan.devices) {
    if (held_for_sure(facts, device) <= device.free_bytes) continue;
    plan.breaks.push_back({PlanBreak::Resource::vram, device.index, needed(device), device.free_bytes});
    plan.reasons.push_back(fmt::format(
        "GPU {} would need {}: {} of weights, {} of context, {} of compute buffers and {} that CUDA takes; {} are free",
        device.index, format_bytes(needed(device)), format_bytes(device.model_bytes),
        format_bytes(device.context_bytes), format_bytes(device.compute_bytes), format_bytes(device.reserve_bytes),
        format_bytes(device.free_bytes)));
  }
  const auto& ram = facts.inputs.ram;
  const Bytes window = facts.model.architecture().sliding_window ? plan.host.context_bytes : 0;
  if (!ram || needed(plan.host) - window <= ram->available_bytes) return;
  plan.breaks.push_back({PlanBreak::Resource::ram, std::nullopt, needed(plan.host), ram->available_bytes});
  plan.reasons.push_back(fmt::format("host RAM would need {} without any cache; {} are available",
                                     format_bytes(needed(plan.host)), format_bytes(ram->available_bytes)));
}

void say_what_fits(const PlanFacts& facts, Plan& plan) {
  if (plan.devices.empty()) {
    plan.reasons.push_back(
        fmt::format("no GPU: {} of weights are computed on the CPU", format_bytes(plan.host.model_bytes)));
    return;
  }
  const auto fullest = std::min_element(plan.devices.begin(), plan.devices.end(),
                                        [](const auto& a, const auto& b) { return a.left_bytes < b.left_bytes; });
  if (plan.verdict == Verdict::all_vram) {
    plan.reasons.push_back(
        fmt::format("all weights but the token embeddings are in VRAM; GPU {} is the fullest, {} are left",
                    fullest->index, format_bytes(left(fullest->left_bytes))));
    return;
  }
  const int layers = facts.solution.planned.cpu_expert_layers;
  const std::string which =
      layers > 0 ? fmt::format("experts of {} layers", layers) : "layers that no GPU has room for";
  plan.reasons.push_back(
      fmt::format("{} of weights are in host RAM: {}", format_bytes(facts.solution.use.spilled_bytes), which));
}

/// What would help a placement by hand that overflows.
void advise_split(const PlanFacts& facts, Plan& plan) {
  const Placement& asked = facts.inputs.profile.placement;
  if (plan.breaks.empty() || asked.mode != PlacementMode::n_cpu_moe || facts.room.free.empty()) return;
  const std::vector<Bytes> room = facts.room.for_engine();
  std::optional<ExpertSplit> better;
  if (asked.n_cpu_moe) better = best_split(facts.model, *asked.n_cpu_moe, room);
  if (!better) better = smallest_split(facts.model, room);
  if (!better) return;
  plan.reasons.push_back(fmt::format("it would fit with n_cpu_moe {} and tensor_split {}", better->cpu_layers,
                                     fmt::join(better->layers, ",")));
}

void warn_of_room(const PlanFacts& facts, Plan& plan) {
  for (const PlannedDevice& device : plan.devices) {
    if (device.left_bytes >= 0 || held_for_sure(facts, device) > device.free_bytes) continue;
    plan.warnings.push_back(
        fmt::format("GPU {} may run short by {}, counted with {} that CUDA takes with long prompts", device.index,
                    format_bytes(static_cast<Bytes>(-device.left_bytes)), format_bytes(device.reserve_bytes)));
  }
}

void warn_of_tenants(const PlanFacts& facts, Plan& plan) {
  for (const GpuMemory& gpu : facts.inputs.gpus) {
    if (gpu.total_bytes <= gpu.free_bytes + kDriverBytes) continue;
    plan.warnings.push_back(
        fmt::format("GPU {}: {} are held by others", gpu.index, format_bytes(gpu.total_bytes - gpu.free_bytes)));
  }
}

void warn_of_slots(const PlanFacts& facts, Plan& plan) {
  const int slots = facts.inputs.profile.slots;
  if (slots > kKneeSlots) {
    plan.warnings.push_back(
        fmt::format("{} slots are past the knee: throughput peaks at {}, and each slot holds {} of state", slots,
                    kKneeSlots, format_bytes(checkpoint_bytes(facts.model.architecture()))));
  }
  const bool drafts = facts.model.serving().rollback > 0;
  if (drafts && !facts.inputs.draft)
    plan.warnings.push_back("the draft model's own memory isn't counted: its file isn't known");
  if (drafts && slots >= kDraftSlots) {
    plan.warnings.push_back(
        fmt::format("a draft isn't worth it at {} slots: it speeds up one or two requests at a time, "
                    "and lost a fifth of the throughput at {}",
                    slots, kDraftSlots));
  }
}

bool spills(const Solution& solution) {
  return solution.use.spilled_bytes > 0;
}

/// The largest margin below `margin` with which nothing spills, looked at carefully.
std::optional<int> margin_that_keeps(const PlanFacts& facts, int margin) {
  for (const int smaller : kFitMargins) {
    if (smaller < margin && !spills(solve_fit_carefully(facts.model, facts.room, margin_list(smaller, facts.room)))) {
      return smaller;
    }
  }
  return std::nullopt;
}

/// What a margin costs or risks.
void warn_of_spill(const PlanFacts& facts, const std::vector<int>& margins, Plan& plan) {
  const Solution careful = solve_fit_carefully(facts.model, facts.room, margins);
  if (!spills(facts.solution) && !spills(careful)) return;
  const int first = margins.front();
  const auto keeps = margin_that_keeps(facts, first);
  const std::string remedy = keeps ? fmt::format("; with fit_target_mib {} all stays in VRAM", *keeps) : "";
  if (!spills(facts.solution)) {
    plan.warnings.push_back(
        fmt::format("it fits closely: what CUDA and the engine's own search take may leave up to {} of "
                    "experts in host RAM{}",
                    format_bytes(careful.use.spilled_bytes), remedy));
  } else if (keeps) {
    plan.warnings.push_back(
        fmt::format("the margin of {} MiB spills experts to host RAM, which costs about 40 % of the "
                    "speed{}",
                    first, remedy));
  }
}

void warn_of_margins(const PlanFacts& facts, Plan& plan) {
  const PlannedPlacement& placement = facts.solution.planned;
  if (placement.mode != PlacementMode::fit || placement.fit_target_mib.empty()) return;
  const std::vector<int>& margins = placement.fit_target_mib;
  const int least = *std::min_element(margins.begin(), margins.end());
  if (least < kFitMargins.back()) {
    plan.warnings.push_back(
        fmt::format("a margin of {} MiB is little: CUDA takes up to {} of it on each GPU with the first "
                    "long prompts",
                    least, format_bytes(facts.room.reserve)));
  }
  warn_of_spill(facts, margins, plan);
}

void warn_of_host(const PlanFacts& facts, Plan& plan) {
  const auto& ram = facts.inputs.ram;
  if (!ram || needed(plan.host) > ram->available_bytes || plan.host.left_bytes >= 0) return;
  plan.warnings.push_back(
      fmt::format("RAM is short for prompt cache and context checkpoints: {} at their limits, {} are left "
                  "beside the weights; lower cache_ram or ctx_checkpoints",
                  format_bytes(plan.host.cache_bytes), format_bytes(ram->available_bytes - needed(plan.host))));
}

void warn_of_model(const PlanFacts& facts, Plan& plan) {
  const Architecture& model = facts.model.architecture();
  const std::int64_t slot = slot_context(facts.model.serving());
  if (model.context_trained > 0 && slot > model.context_trained) {
    plan.warnings.push_back(fmt::format("{} tokens a slot are more than the {} that the model was trained for", slot,
                                        model.context_trained));
  }
  if (model.sliding_window)
    plan.warnings.push_back("some layers keep only a window of the context: less is needed than counted");
  if (plan.basis == PlanBasis::computed && model.name != "kimi-k3") {
    plan.warnings.push_back(fmt::format("compute buffers of {} models are an estimate", model.name));
  }
}

}  // namespace

void judge(const PlanFacts& facts, Plan& plan) {
  find_breaks(facts, plan);
  const bool spilled = plan.devices.empty() || facts.solution.use.spilled_bytes > 0;
  plan.verdict = !plan.breaks.empty() ? Verdict::too_big : spilled ? Verdict::hybrid : Verdict::all_vram;
  if (plan.breaks.empty()) say_what_fits(facts, plan);
  advise_split(facts, plan);
}

void warn(const PlanFacts& facts, Plan& plan) {
  warn_of_tenants(facts, plan);
  warn_of_room(facts, plan);
  warn_of_margins(facts, plan);
  warn_of_slots(facts, plan);
  warn_of_host(facts, plan);
  warn_of_model(facts, plan);
}

}  // namespace k3d::planning
