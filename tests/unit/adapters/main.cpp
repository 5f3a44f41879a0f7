// Main of the adapters' tests: also the GPU process that the probe starts, and a process that has a probe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "daemon/adapters/nvml_child.hpp"
#include "tests/unit/adapters/nvml_rig.hpp"

int main(int argc, char** argv) {
  if (const auto status = k3d::adapters::run_as_nvml_child(argc, argv)) return *status;
  if (argc == 2 && std::string_view(argv[1]) == k3d::adapters::test::kHoldAProbe) return k3d::adapters::test::hold_a_probe();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
