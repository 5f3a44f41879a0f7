#include "api/k3ctl/plan_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "api/k3ctl/present.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "api/k3ctl/table.hpp"

namespace k3d::cli {
namespace {

constexpr int kLongestBar = 64, kShortestBar = 10;

std::string signed_bytes(std::int64_t bytes) {
  return bytes < 0 ? "-" + format_bytes(static_cast<Bytes>(-bytes)) : format_bytes(static_cast<Bytes>(bytes));
}

std::string headline(Verdict verdict) {
  switch (verdict) {
    case Verdict::all_vram:
      return "It runs, all in VRAM";
    case Verdict::hybrid:
      return "It runs, partly from host RAM";
    case Verdict::too_big:
      return "It does NOT fit";
    case Verdict::blocked:
      return "It must NOT run";
  }
  return {};
}

std::string coloured(const std::string& text, Verdict verdict, bool live) {
  if (!live) return text;
  const char* colour = verdict == Verdict::all_vram ? "\x1b[32;1m" : verdict == Verdict::hybrid ? "\x1b[33;1m" : "\x1b[31;1m";
  return colour + text + "\x1b[0m";
}

std::string device_table(const Plan& plan) {
  Table table({{"GPU", true},
               {"LAYERS", true},
               {"WEIGHTS", true},
               {"CONTEXT", true},
               {"COMPUTE", true},
               {"CUDA", true},
               {"FREE", true},
               {"LEFT", true}});
  for (const PlannedDevice& device : plan.devices) {
    table.add({std::to_string(device.index), fmt::format("{}", device.layers), format_bytes(device.model_bytes),
               format_bytes(device.context_bytes), format_bytes(device.compute_bytes), format_bytes(device.reserve_bytes),
               format_bytes(device.free_bytes), signed_bytes(device.left_bytes)});
  }
  return table.text();
}

std::string bars(const Plan& plan, int width) {
  const int length = std::clamp(width - 10, kShortestBar, kLongestBar);
  std::string out = "\n";
  for (const PlannedDevice& device : plan.devices) out += fmt::format("{:>3}  [{}]\n", device.index, plan_bar(device, length));
  return out + "     # weights  + context  = compute  ~ CUDA itself  . left\n";
}

std::string host_line(const PlannedHost& host) {
  std::string line = fmt::format("host       {} of weights, {} of buffers, up to {} of caches", format_bytes(host.model_bytes),
                                 format_bytes(host.context_bytes + host.compute_bytes), format_bytes(host.cache_bytes));
  if (host.ram_bytes > 0) line += fmt::format("; {} of {} left", signed_bytes(host.left_bytes), format_bytes(host.ram_bytes));
  return line + "\n";
}

std::string placement_flags(const PlannedPlacement& placement) {
  switch (placement.mode) {
    case PlacementMode::fit:
      return fmt::format("--fit on --fit-target {}", fmt::join(placement.fit_target_mib, ","));
    case PlacementMode::n_cpu_moe:
      return fmt::format("--n-gpu-layers 999 --n-cpu-moe {} --tensor-split {}", placement.n_cpu_moe.value_or(0),
                         fmt::join(placement.tensor_split, ","));
    case PlacementMode::override_tensors:
    case PlacementMode::pinned:
      return fmt::format("--n-gpu-layers 999 --override-tensor {}", shell_line({fmt::format("{}", fmt::join(placement.tensors, ","))}));
  }
  return {};
}

std::string flags_line(const Plan& plan) {
  const std::string placement = plan.devices.empty() ? "--device none" : placement_flags(plan.placement);
  std::string line = fmt::format("flags      {} --batch-size {} --ubatch-size {}\n", safe_text(placement), plan.batch, plan.ubatch);
  if (plan.devices.empty() || plan.placement.mode != PlacementMode::fit) return line;
  return line + fmt::format("           the engine fits it by itself; layers as forecast: {}\n",
                            fmt::join(plan.placement.tensor_split, ", "));
}

std::string sequences_of(const Plan& plan, int context, const std::string& type) {
  const auto row = std::ranges::find_if(plan.capacity, [&](const Capacity& c) { return c.context == context && c.cache_type == type; });
  return row == plan.capacity.end() ? std::string() : std::to_string(row->sequences);
}

/// How many sequences of which context the memory would hold, a column for each type of the cache.
std::string capacity_table(const Plan& plan) {
  std::set<int> contexts;
  std::vector<std::string> types;
  for (const Capacity& row : plan.capacity) {
    contexts.insert(row.context);
    if (std::ranges::count(types, row.cache_type) == 0) types.push_back(row.cache_type);
  }
  std::vector<Column> columns{{"CONTEXT", true}};
  for (const std::string& type : types) columns.push_back({type, true});
  Table table(std::move(columns));
  for (const int context : contexts) {
    std::vector<std::string> cells{std::to_string(context)};
    for (const std::string& type : types) cells.push_back(sequences_of(plan, context, type));
    table.add(std::move(cells));
  }
  return "\nsequences that its memory would hold, by context and type of the cache:\n" + table.text();
}

std::string files_line(const PlanAnswer& answer) {
  const Plan& plan = answer.plan;
  std::string line = fmt::format("files      {} in {} {}", format_bytes(plan.total_bytes), plan.shards, plan.shards == 1 ? "file" : "files");
  if (answer.present_bytes < plan.total_bytes) line += fmt::format(", {} here", format_bytes(answer.present_bytes));
  if (plan.load_seconds) line += fmt::format("; loads in about {}", duration_text(*plan.load_seconds));
  return line + "\n";
}

std::string figures(const PlanAnswer& answer, const Terminal& terminal) {
  const Plan& plan = answer.plan;
  std::string out = "\n";
  if (!plan.devices.empty()) out += device_table(plan) + (terminal.live ? bars(plan, terminal.width) : "") + "\n";
  out += host_line(plan.host) + files_line(answer) + flags_line(plan);
  if (answer.proof) {
    constexpr std::array kWords{"no", "on the same GPU model elsewhere", "on this host", "no: blocked"};
    out += fmt::format("proven     {}\n", kWords.at(static_cast<std::size_t>(*answer.proof)));
  }
  if (!plan.capacity.empty()) out += capacity_table(plan);
  return out;
}

}  // namespace

std::string plan_bar(const PlannedDevice& device, int width) {
  const double free = std::max(1.0, static_cast<double>(device.free_bytes));
  const auto wide = static_cast<std::size_t>(std::max(width, 1));
  std::string bar;
  double sum = 0;
  for (const auto& [bytes, mark] : {std::pair{device.model_bytes, '#'}, {device.context_bytes, '+'}, {device.compute_bytes, '='},
                                    {device.reserve_bytes, '~'}}) {
    sum += static_cast<double>(bytes);
    const auto until = static_cast<std::size_t>(std::min(sum / free, 1.0) * static_cast<double>(wide) + 0.5);
    if (until > bar.size()) bar.append(until - bar.size(), mark);
  }
  bar.resize(wide, '.');
  if (device.left_bytes < 0) bar.back() = '!';
  return bar;
}

bool plan_runs(const Plan& plan) { return plan.verdict == Verdict::all_vram || plan.verdict == Verdict::hybrid; }

std::string plan_page(const PlanAnswer& answer, const Terminal& terminal) {
  const Plan& plan = answer.plan;
  std::string out = coloured(headline(plan.verdict), plan.verdict, terminal.live) + "\n";
  for (const std::string& reason : plan.reasons) out += "  " + safe_text(reason) + "\n";
  if (plan.batch > 0) out += figures(answer, terminal);
  if (!plan.warnings.empty()) out += "\n";
  for (const std::string& warning : plan.warnings) out += "warning: " + safe_text(warning) + "\n";
  return out;
}

}  // namespace k3d::cli
