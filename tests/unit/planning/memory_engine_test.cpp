// The memory model against the engine itself: real GPUs (cuda-2xH200.txt) and full-size headers on devices that aren't
// there (engine-explicit.txt, whose compute buffers are those of CPUs and count for nothing here).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/planning/memory_golden.hpp"

namespace k3d::planning::test {
namespace {

double mib(Bytes bytes) {
  return static_cast<double>(bytes) / kMiB;
}

/// Within a part of the engine's figure; it prints whole MiB, cut.
void expect_near(double ours, double theirs, double part, const std::string& what) {
  EXPECT_LE(std::abs(ours - theirs), theirs * part + 1) << what << ": " << ours << " MiB, the engine says " << theirs;
}

/// What the CPU repacks for itself (MXFP4, Q4_K and Q2_K experts, Q8_0 and F16 layers) the engine counts nowhere.
bool engine_counts_host(const Case& which) {
  if (which.asked.gpu_layers != 999) return false;
  const bool repacked = which.quant == "UD-Q4_K_XL" || !which.quant.starts_with("UD-");
  return which.asked.cpu_moe == 0 || !repacked || which.quant == "REAP770";
}

void expect_weights_and_context(const Case& which, bool cuda) {
  const MemoryModel model = model_of(which);
  const ModelUse use = model.use(placed_by(which, which.asked, model));
  for (std::size_t i = 0; i < which.devices.size(); ++i) {
    const std::string device = "device " + std::to_string(i);
    expect_near(mib(use.devices[i].model), which.devices[i].model, 0.001, device + " model");
    expect_near(mib(use.devices[i].context), which.devices[i].context, 0.001, device + " context");
  }
  if (cuda || engine_counts_host(which)) expect_near(mib(use.host.model), which.host.model, 0.001, "host model");
  expect_near(mib(use.host.context), which.host.context, 0.001, "host context");
}

TEST(MemoryEngine, WeightsAndContextAreWithinAThousandthOfRealGpus) {
  const std::vector<Case> cases = read_cases("cuda-2xH200.txt");
  EXPECT_EQ(cases.size(), 43U);
  for (const Case& which : cases) {
    SCOPED_TRACE(which.text);
    expect_weights_and_context(which, true);
  }
}

TEST(MemoryEngine, WeightsAndContextAreWithinAThousandthOfTheEngineForOtherQuantsAndDevices) {
  const std::vector<Case> cases = read_cases("engine-explicit.txt");
  EXPECT_GE(cases.size(), 24U);
  for (const Case& which : cases) {
    SCOPED_TRACE(which.text);
    expect_weights_and_context(which, false);
  }
}

TEST(MemoryEngine, WeightsAndContextOfOtherArchitecturesAreWithinAThousandth) {
  for (const Case& which : read_cases("engine-plain.txt")) {
    SCOPED_TRACE(which.text);
    expect_weights_and_context(which, false);
  }
}

/// CUDA's may differ: a check that the estimate is of the right size, and rather over than under.
TEST(MemoryEngine, ComputeBuffersOfOtherArchitecturesAreRoughlyWhatCpuDevicesNeed) {
  for (const Case& which : read_cases("engine-plain.txt")) {
    SCOPED_TRACE(which.text);
    const MemoryModel model = model_of(which);
    Placed placed = placed_by(which, which.asked, model);
    placed.offload = false;
    const ModelUse use = model.use(placed);
    double ours = 0, theirs = 0;
    for (std::size_t i = 0; i < which.devices.size(); ++i) {
      ours = std::max(ours, mib(use.devices[i].compute));
      theirs = std::max(theirs, which.devices[i].compute);
    }
    EXPECT_GT(ours, theirs * 0.85);
    EXPECT_LT(ours, theirs * 1.6);
  }
}

TEST(MemoryEngine, ComputeBuffersAreWithin15PercentOfRealGpus) {
  for (const Case& which : read_cases("cuda-2xH200.txt")) {
    if (which.asked.gpu_layers != 999) continue;
    SCOPED_TRACE(which.text);
    const MemoryModel model = model_of(which);
    const ModelUse use = model.use(placed_by(which, which.asked, model));
    for (std::size_t i = 0; i < which.devices.size(); ++i) {
      expect_near(mib(use.devices[i].compute), which.devices[i].compute, 0.15, "device " + std::to_string(i));
    }
    expect_near(mib(use.host.compute), which.host.compute, 0.01, "host");
  }
}

TEST(MemoryEngine, MeasuredComputeBuffersAreTakenAsTheyAre) {
  const Case which = read_cases("cuda-2xH200.txt").front();
  const MemoryModel model = model_of(which, compute_of(which));
  const ModelUse use = model.use(placed_by(which, which.asked, model));
  EXPECT_EQ(use.devices[0].compute, 644 * kMiB);
  EXPECT_EQ(use.devices[1].compute, 1120 * kMiB);
  EXPECT_EQ(use.host.compute, 60 * kMiB);
}

}  // namespace
}  // namespace k3d::planning::test
