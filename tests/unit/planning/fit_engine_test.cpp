// The search for a fit against the engine's own (engine-fit.txt): same verdict, same layers, same totals. The engine's
// compute buffers there are those of CPUs, so the search is given them.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/unit/planning/memory_golden.hpp"

namespace k3d::planning::test {
namespace {

std::vector<Bytes> in_bytes(const std::vector<double>& mib) {
  std::vector<Bytes> bytes;
  for (const double value : mib) bytes.push_back(static_cast<Bytes>(value) * kMiB);
  return bytes;
}

std::vector<Bytes> margins_of(const Case& which) {
  std::vector<double> margins(which.asked.margins_mib.begin(), which.asked.margins_mib.end());
  margins.resize(which.devices.size(), margins.back());
  return in_bytes(margins);
}

double device_total(const ModelUse& use) {
  double total = 0;
  for (const MemoryUse& device : use.devices) total += static_cast<double>(device.total()) / kMiB;
  return total;
}

double device_total(const Case& which) {
  double total = 0;
  for (const Figures& device : which.devices) total += device.model + device.context + device.compute;
  return total;
}

TEST(FitEngine, VerdictAndTotalsAreTheEngines) {
  const std::vector<Case> cases = read_cases("engine-fit.txt");
  EXPECT_GE(cases.size(), 14U);
  for (const Case& which : cases) {
    SCOPED_TRACE(which.text);
    const MemoryModel model = model_of(which, compute_of(which));
    const FitOutcome ours = search_fit(model, in_bytes(which.sizes_mib), margins_of(which));
    const ModelUse use = model.use(ours.placed), theirs = model.use(placed_by(which, which.chosen, model));
    EXPECT_EQ(use.spilled_bytes > 0, theirs.spilled_bytes > 0)
        << use.cpu_expert_layers << " and " << theirs.cpu_expert_layers;
    EXPECT_NEAR(device_total(use), device_total(which), device_total(which) * 0.01);
    const double host = static_cast<double>(theirs.host.total());
    EXPECT_NEAR(static_cast<double>(use.host.total()), host, host * 0.01);
    std::vector<double> layers;
    for (const DeviceFill& fill : ours.fills) layers.push_back(fill.layers);
    std::vector<double> split = which.chosen.split;
    split.resize(layers.size(), 0);  // it leaves out devices at the end that got none
    EXPECT_EQ(layers, split);
  }
}

/// Two H200 with CUDA (unslothai/llama.cpp edfd4c1): -c 65536 -np 4 -b 2048 -ub 2048 -fitt 4096. Free are 141,701 and
/// 141,779 MiB; "CUDA0: 21 layers ( 1 overflowing)", "CUDA1: 73 layers (60 overflowing)", then the sizes below.
TEST(FitEngine, OnRealGpusItEndsAsTheEnginesLogSays) {
  Case which;
  which.quant = "UD-IQ2_XXS";
  which.asked = parse_arguments("-c 65536 -np 4 -b 2048 -ub 2048");
  which.devices.resize(2);
  const MemoryModel model = model_of(which);
  const FitOutcome ours = search_fit(model, in_bytes({141701, 141779}), in_bytes({4096, 4096}));
  const DeviceFill first{21, 1, Fraction::attention, 1}, second{73, 60, Fraction::attention, kHost};
  EXPECT_EQ(ours.fills, (std::vector<DeviceFill>{first, second}));
  const ModelUse use = model.use(ours.placed);
  EXPECT_EQ(use.devices[0].model / kMiB, 130503U);
  EXPECT_EQ(use.devices[1].model / kMiB, 131213U);
  EXPECT_EQ(use.host.model / kMiB, 416402U);
  EXPECT_EQ(use.devices[0].context / kMiB, 771U);
  EXPECT_EQ(use.devices[1].context / kMiB, 2729U);
  EXPECT_NEAR(static_cast<double>(use.devices[0].compute) / kMiB, 5265, 5265 * 0.15);
  EXPECT_NEAR(static_cast<double>(use.devices[1].compute) / kMiB, 2059, 2059 * 0.15);
}

}  // namespace
}  // namespace k3d::planning::test
