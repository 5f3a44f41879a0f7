#include "daemon/lifecycle/devices.hpp"

#include <gtest/gtest.h>

namespace k3d::lifecycle {
namespace {

using Names = std::vector<std::string>;

DockerInfo docker(Names devices, bool known = true) {
  DockerInfo info;
  info.version = "28.5.2";
  info.cdi = true;
  info.cdi_devices = std::move(devices);
  info.cdi_devices_known = known;
  return info;
}

Gpus listed(Names gpus) { return {GpuChoice::listed, std::move(gpus)}; }

const Names kUuids{"GPU-aaaa", "GPU-bbbb"};

TEST(CdiDevices, by_uuid_where_the_specification_names_them) {
  const DockerInfo info = docker({"nvidia.com/gpu=0", "nvidia.com/gpu=1", "nvidia.com/gpu=GPU-aaaa",
                                  "nvidia.com/gpu=GPU-bbbb", "nvidia.com/gpu=all"});
  EXPECT_EQ(cdi_devices(listed({"1"}), info, kUuids).value(), (Names{"nvidia.com/gpu=GPU-bbbb"}));
  EXPECT_EQ(cdi_devices({GpuChoice::all, {}}, info, kUuids).value(),
            (Names{"nvidia.com/gpu=GPU-aaaa", "nvidia.com/gpu=GPU-bbbb"}));
}

TEST(CdiDevices, uuids_become_indexes_where_it_names_only_those) {
  const DockerInfo info = docker({"nvidia.com/gpu=0", "nvidia.com/gpu=1", "nvidia.com/gpu=all"});
  EXPECT_EQ(cdi_devices(listed({"GPU-bbbb"}), info, kUuids).value(), (Names{"nvidia.com/gpu=1"}));
  EXPECT_EQ(cdi_devices({GpuChoice::all, {}}, info, kUuids).value(), (Names{"nvidia.com/gpu=all"}));
}

TEST(CdiDevices, a_device_nobody_knows_is_refused_with_what_is_known) {
  const auto devices = cdi_devices(listed({"7"}), docker({"nvidia.com/gpu=0"}), kUuids);
  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().code, Code::start_refused);
  EXPECT_NE(devices.error().hint.find("nvidia.com/gpu=0"), std::string::npos);
}

TEST(CdiDevices, an_engine_without_cdi_serves_only_profiles_without_gpus) {
  DockerInfo old = docker({}, false);
  old.cdi = false;
  EXPECT_FALSE(cdi_devices({GpuChoice::all, {}}, old, kUuids));
  EXPECT_TRUE(cdi_devices({GpuChoice::none, {}}, old, kUuids).value().empty());
}

TEST(CdiDevices, an_engine_that_does_not_list_devices_is_asked_by_the_name_as_written) {
  EXPECT_EQ(cdi_devices(listed({"GPU-x"}), docker({}, false), {}).value(), (Names{"nvidia.com/gpu=GPU-x"}));
}

}  // namespace
}  // namespace k3d::lifecycle
