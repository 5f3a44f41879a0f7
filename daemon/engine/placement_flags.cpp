#include "daemon/engine/placement_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace k3d::engine {
namespace {

/// MiB to leave free per device. llama-server's own 1024 runs out of scratch on the first long prompt.
constexpr int kFitMarginMib = 4096;

void add_fit(Arguments& arguments, const Placement& placement) {
  arguments.need({"--fit", "-fit"}, "placement.mode: fit", "on");
  arguments.need({"--fit-target", "-fitt"}, "placement.fit_target_mib",
                 fmt::format("{}", fmt::join(fit_margins(placement), ",")));
}

void add_explicit(Arguments& arguments, const Placement& placement) {
  arguments.need({"-ngl", "--n-gpu-layers", "--gpu-layers"}, "an explicit placement", "999");
  if (placement.mode == PlacementMode::n_cpu_moe) {
    arguments.need({"--n-cpu-moe", "-ncmoe"}, "placement.mode: n_cpu_moe",
                   std::to_string(placement.n_cpu_moe.value_or(0)));
  } else if (!placement.tensors.empty()) {
    arguments.need({"--override-tensor", "-ot"}, "placement.mode: override",
                   fmt::format("{}", fmt::join(placement.tensors, ",")));
  }
  if (!placement.tensor_split.empty()) {
    arguments.need({"--tensor-split", "-ts"}, "placement.tensor_split",
                   fmt::format("{}", fmt::join(placement.tensor_split, ",")));
  }
  arguments.wish({"--fit", "-fit"}, "off");
}

bool is_pinned(const Placement& placement) {
  return placement.mode == PlacementMode::pinned && (!placement.tensors.empty() || !placement.tensor_split.empty());
}

}  // namespace

bool is_left_to_engine(const Placement& placement) {
  switch (placement.mode) {
    case PlacementMode::fit: return true;
    case PlacementMode::n_cpu_moe: return !placement.n_cpu_moe;
    case PlacementMode::pinned: return !is_pinned(placement);
    case PlacementMode::override_tensors: return false;
  }
  return true;
}

std::vector<int> fit_margins(const Placement& placement) {
  return placement.fit_target_mib.empty() ? std::vector<int>{kFitMarginMib} : placement.fit_target_mib;
}

bool is_hybrid(const Placement& placement) {
  if (placement.mode == PlacementMode::n_cpu_moe) return placement.n_cpu_moe.value_or(0) > 0;
  if (placement.mode == PlacementMode::fit) return false;
  return std::any_of(placement.tensors.begin(), placement.tensors.end(),
                     [](const std::string& tensor) { return tensor.ends_with("=CPU"); });
}

void add_placement(Arguments& arguments, const Profile& profile) {
  if (profile.gpus.choice == GpuChoice::none) {
    // Nothing to place. Without this a build with another accelerator would still look for one, and a fit would load
    // the model's metadata twice for nothing.
    arguments.wish({"--device", "-dev"}, "none");
    arguments.wish({"--fit", "-fit"}, "off");
    return;
  }
  arguments.wish({"--split-mode", "-sm"}, "layer");
  if (is_left_to_engine(profile.placement)) {
    add_fit(arguments, profile.placement);
  } else {
    add_explicit(arguments, profile.placement);
  }
}

}  // namespace k3d::engine
