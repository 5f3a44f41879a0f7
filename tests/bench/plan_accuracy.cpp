// How near plans are to the engine's own figures, case by case, and how long they take. Owns: the table; asserts
// nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tests/unit/planning/memory_golden.hpp"
#include "tests/unit/planning/planner_inputs.hpp"

namespace k3d::planning::test {
namespace {

/// The engine prints whole MiB, cut: what may lie behind its figure is no deviation.
double percent(double ours, double theirs) {
  return theirs == 0 ? 0 : 100 * (ours - std::clamp(ours, theirs, theirs + 1)) / theirs;
}
double mib(Bytes bytes) {
  return static_cast<double>(bytes) / kMiB;
}
double wider(double a, double b) {
  return std::abs(b) > std::abs(a) ? b : a;
}

/// Largest deviation over the devices, in percent.
struct Row {
  double model = 0, context = 0, compute = 0;
};

Row compare(const Case& which, const ModelUse& use) {
  Row row;
  for (std::size_t i = 0; i < which.devices.size(); ++i) {
    row.model = wider(row.model, percent(mib(use.devices[i].model), which.devices[i].model));
    row.context = wider(row.context, percent(mib(use.devices[i].context), which.devices[i].context));
    row.compute = wider(row.compute, percent(mib(use.devices[i].compute), which.devices[i].compute));
  }
  return row;
}

std::string arguments_of(const Case& which) {
  const std::size_t begin = which.text.rfind(" | ", which.text.rfind(" | ") - 1) + 3;
  return which.text.substr(begin, which.text.rfind(" | ") - begin);
}

void explicit_table(const char* file, bool with_compute) {
  fmt::print("\n{}: widest deviation over the devices, %\n{:>8} {:>8} {:>8}  quant and arguments\n", file, "model",
             "context", "compute");
  for (const Case& which : read_cases(file)) {
    const MemoryModel model = model_of(which);
    const Row row = compare(which, model.use(placed_by(which, which.asked, model)));
    fmt::print("{:8.3f} {:8.3f} {:>8}  {} on {} {}\n", row.model, row.context,
               with_compute ? fmt::format("{:.1f}", row.compute) : "-", which.quant, which.devices.size(),
               arguments_of(which));
  }
}

void fit_table() {
  fmt::print(
      "\nengine-fit.txt: layers per device and what is in host RAM, ours and the engine's; total on devices, %\n");
  for (const Case& which : read_cases("engine-fit.txt")) {
    const MemoryModel model = model_of(which, compute_of(which));
    std::vector<Bytes> free, margins;
    for (std::size_t i = 0; i < which.sizes_mib.size(); ++i) {
      free.push_back(static_cast<Bytes>(which.sizes_mib[i]) * kMiB);
      const auto& given = which.asked.margins_mib;
      margins.push_back(static_cast<Bytes>(given[std::min(i, given.size() - 1)]) * kMiB);
    }
    const FitOutcome ours = search_fit(model, free, margins);
    const ModelUse use = model.use(ours.placed), theirs = model.use(placed_by(which, which.chosen, model));
    double total = 0, engine = 0;
    std::vector<int> layers;
    for (std::size_t i = 0; i < which.devices.size(); ++i) {
      total += mib(use.devices[i].total());
      engine += which.devices[i].model + which.devices[i].context + which.devices[i].compute;
    }
    for (const DeviceFill& fill : ours.fills) layers.push_back(fill.layers);
    fmt::print("{:7.3f}  {} ({:.0f} MiB) | {} ({:.0f} MiB)  {} {}\n", percent(total, engine), fmt::join(layers, ","),
               mib(use.spilled_bytes), fmt::join(which.chosen.split, ","), mib(theirs.spilled_bytes), which.quant,
               arguments_of(which));
  }
}

void time_table() {
  fmt::print("\ntime of a plan, best of 20, ms\n");
  for (const char* quant : {"UD-IQ2_XXS", "REAP770", "UD-Q2_K_XL", "UD-Q4_K_XL"}) {
    for (const PlacementMode mode : {PlacementMode::fit, PlacementMode::n_cpu_moe}) {
      PlanInputs inputs = reference(quant, 8, 65536);
      inputs.profile.placement.mode = mode;
      double best = 1e9;
      for (int i = 0; i < 20; ++i) {
        const auto began = std::chrono::steady_clock::now();
        const Plan made = plan(inputs);
        best =
            std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
      }
      fmt::print("{:8.2f}  {} {}\n", best, quant, mode == PlacementMode::fit ? "fit" : "n_cpu_moe");
    }
  }
}

}  // namespace
}  // namespace k3d::planning::test

int main() {
  using namespace k3d::planning::test;
  explicit_table("cuda-2xH200.txt", true);
  explicit_table("engine-explicit.txt", false);
  explicit_table("engine-plain.txt", false);
  fit_table();
  time_table();
  return 0;
}
