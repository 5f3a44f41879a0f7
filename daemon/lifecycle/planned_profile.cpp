#include "daemon/lifecycle/planned_profile.hpp"

#include <algorithm>

namespace k3d::lifecycle {
namespace {

/// What a driver keeps for itself of a GPU, beside CUDA contexts that have just ended, stays below this.
constexpr Bytes kUnaccountedLimit = kGiB;

Bytes less(Bytes whole, Bytes part) { return whole > part ? whole - part : 0; }

bool is_named(const GpuState& gpu, const std::vector<std::string>& listed) {
  return std::any_of(listed.begin(), listed.end(), [&gpu](const std::string& name) {
    return name == gpu.uuid || name == std::to_string(gpu.index);
  });
}

planning::GpuMemory memory_of(const GpuState& gpu) {
  Bytes ours = 0, others = 0;
  bool known = true, ours_known = true;
  for (const GpuProcess& process : gpu.processes) {
    known = known && process.memory_bytes.has_value();
    ours_known = ours_known && (!process.ours || process.memory_bytes.has_value());
    (process.ours ? ours : others) += process.memory_bytes.value_or(0);
  }
  // Some drivers name processes without their memory: what nobody else is known to hold is ours then.
  Bytes coming = ours_known ? ours : less(gpu.memory_used_bytes, others);
  const Bytes no_ones = less(gpu.memory_used_bytes, ours + others);
  if (known && no_ones > kUnaccountedLimit) coming += no_ones - kUnaccountedLimit;
  const Bytes free = less(gpu.memory_total_bytes, gpu.memory_used_bytes) + coming;
  return {gpu.index, gpu.memory_total_bytes, std::min(free, gpu.memory_total_bytes)};
}

/// "7" of the profile's GPUs as llama-server counts them.
std::size_t position_of(const std::string& index, const Profile& profile, const Plan* plan) {
  if (plan != nullptr) {
    for (std::size_t i = 0; i < plan->devices.size(); ++i) {
      if (std::to_string(plan->devices[i].index) == index) return i;
    }
  }
  const auto& listed = profile.gpus.listed;
  const auto found = std::find(listed.begin(), listed.end(), index);
  if (found != listed.end()) return static_cast<std::size_t>(found - listed.begin());
  return static_cast<std::size_t>(std::atoi(index.c_str()));
}

/// The last GPU that has layers holds the output.
std::size_t output_position(const Plan* plan, std::size_t gpus) {
  if (plan != nullptr) {
    for (std::size_t i = plan->devices.size(); i-- > 0;) {
      if (plan->devices[i].layers > 0) return i;
    }
  }
  return gpus - 1;
}

std::string figures(const PlanBreak& broken) {
  const std::string of = broken.device ? "GPU " + std::to_string(*broken.device) : std::string("host RAM");
  return of + " needs " + format_bytes(broken.need_bytes) + " and has " + format_bytes(broken.have_bytes);
}

/// Weights that have no room anywhere, whatever else is left out.
std::optional<std::string> impossible(const planning::PlanInputs& inputs, const Plan& plan) {
  for (const PlannedDevice& device : plan.devices) {
    if (device.model_bytes <= device.free_bytes) continue;
    return "GPU " + std::to_string(device.index) + " would need " + format_bytes(device.model_bytes) +
           " for weights alone, and has " + format_bytes(device.free_bytes) + " free";
  }
  if (inputs.ram && plan.host.model_bytes > inputs.ram->total_bytes) {
    return "host RAM would need " + format_bytes(plan.host.model_bytes) + " for weights alone, and this host has " +
           format_bytes(inputs.ram->total_bytes);
  }
  return std::nullopt;
}

std::string resource_name(PlanBreak::Resource resource) {
  switch (resource) {
    case PlanBreak::Resource::vram: return "vram";
    case PlanBreak::Resource::ram: return "ram";
    case PlanBreak::Resource::disk: return "disk";
    case PlanBreak::Resource::context: return "context";
    case PlanBreak::Resource::flag: return "flag";
    case PlanBreak::Resource::quant: return "quant";
  }
  return {};
}

std::vector<Shortage> shortages(const Plan& plan) {
  std::vector<Shortage> all;
  for (const PlanBreak& broken : plan.breaks) {
    all.push_back({resource_name(broken.resource), broken.device, broken.need_bytes, broken.have_bytes});
  }
  return all;
}

Error cannot_run(const std::string& name, const std::string& why, const Plan& plan) {
  Error error{Code::does_not_fit, name + " can't run: " + why,
              "use a smaller quant or other GPUs, or free memory: see `k3ctl plan`", {}};
  error.breaks = shortages(plan);
  return error;
}

Error does_not_fit(const std::string& name, const Plan& plan) {
  const std::string why = plan.reasons.empty() ? figures(plan.breaks.front()) : plan.reasons.front();
  Error error{Code::does_not_fit, name + " does not fit: " + why,
              "lower context, slots or ubatch, or free memory: see `k3ctl plan`; \"accept_risk\" starts it all the same", {}};
  error.breaks = shortages(plan);
  return error;
}

std::string last_reason(const planning::Proof& proof) {
  return proof.reasons.empty() ? std::string("nobody has proven it") : proof.reasons.back();
}

}  // namespace

std::optional<std::vector<GpuState>> gpus_of(const Gpus& gpus, const std::vector<GpuState>& all) {
  std::vector<GpuState> chosen;
  if (gpus.choice == GpuChoice::none) return chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&gpus](const GpuState& gpu) {
    return gpus.choice == GpuChoice::all || is_named(gpu, gpus.listed);
  });
  const std::size_t wanted = gpus.choice == GpuChoice::all ? std::max<std::size_t>(all.size(), 1) : gpus.listed.size();
  if (chosen.size() != wanted) return std::nullopt;
  std::sort(chosen.begin(), chosen.end(), [](const GpuState& a, const GpuState& b) { return a.index < b.index; });
  return chosen;
}

std::vector<planning::GpuMemory> memory_for_next(const std::vector<GpuState>& gpus) {
  std::vector<planning::GpuMemory> memory;
  std::transform(gpus.begin(), gpus.end(), std::back_inserter(memory), memory_of);
  return memory;
}

Profile with_plan(Profile profile, const Plan& plan) {
  profile.batch = plan.batch;
  profile.ubatch = plan.ubatch;
  if (plan.devices.empty()) return profile;
  Placement& placement = profile.placement;
  if (plan.placement.mode == PlacementMode::fit) {
    placement = {};
    placement.fit_target_mib = plan.placement.fit_target_mib;
  } else if (plan.placement.mode == PlacementMode::n_cpu_moe) {
    placement.n_cpu_moe = plan.placement.n_cpu_moe;
    placement.tensor_split = plan.placement.tensor_split;
  }
  return profile;
}

std::optional<std::string> draft_device(const Profile& profile, const Plan* plan, std::size_t gpus) {
  if (!profile.speculative || profile.gpus.choice == GpuChoice::none) return std::nullopt;
  const std::string& asked = profile.speculative->device;
  if (asked == "last") {
    const bool known = gpus > 0 || (plan != nullptr && !plan->devices.empty());
    return known ? std::optional("CUDA" + std::to_string(output_position(plan, gpus))) : std::nullopt;
  }
  if (asked.find_first_not_of("0123456789") != std::string::npos) return asked;
  return "CUDA" + std::to_string(position_of(asked, profile, plan));
}

std::string what_is_unproven(const planning::Proof& proof, const Plan& plan) {
  return proof.needs_proof && !plan.devices.empty() ? last_reason(proof) : std::string();
}

Status check_start(const StartQuestion& question) {
  const Plan& plan = question.plan;
  const std::string name = "profile " + question.inputs.profile.name;
  if (question.proof.blocked) {
    Error error{Code::quant_blocked, name + ": " + question.proof.reasons.front(), "use another quant", {}};
    error.breaks.push_back({"quant", std::nullopt});
    return fail(std::move(error));
  }
  if (const auto why = impossible(question.inputs, plan)) return fail(cannot_run(name, *why, plan));
  if (question.accept_risk) return {};
  if (!plan.breaks.empty()) return fail(does_not_fit(name, plan));
  const bool unproven = question.proof.needs_proof && question.proof.proven == planning::Proven::no;
  if (!unproven || question.inputs.profile.allow_unproven || plan.devices.empty()) return {};
  Error error{Code::quant_unproven, name + ": " + last_reason(question.proof),
              "set allow_unproven in the profile, or start it with \"accept_risk\"; then look at its answers", {}};
  error.breaks.push_back({"quant", std::nullopt});
  return fail(std::move(error));
}

}  // namespace k3d::lifecycle
