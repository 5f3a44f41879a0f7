// Two launch specifications: one with everything in it, one with nothing.
#pragma once

#include "daemon/model/launch.hpp"

namespace k3d::test {

inline LaunchSpec gpu_spec() {
  LaunchSpec spec;
  spec.name = "k3d-default-7";
  spec.image = "k3d-engine-upstream:0123456789ab";
  spec.entrypoint = {"/bin/sh", "/k3d/wrap.sh"};
  spec.args = {"-m", "/models/K3 a,b:c/m-00001-of-00002.gguf", "--override-tensor", "exps=CPU", "it's"};
  spec.env = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"GREETING", "a \"b\" $c"}};
  spec.labels = {{"k3d.instance", "default"}, {"k3d.attempt", "7"}};
  spec.mounts = {{"/data/K3 a,b:c", "/models/K3 a,b:c", true}, {"/run/k3d/engines/7", "/run/k3d/engines/7", false}};
  spec.cdi_devices = {"nvidia.com/gpu=GPU-11111111-2222-3333-4444-555555555555", "nvidia.com/gpu=1"};
  spec.user = "999:995";
  spec.groups = {"44"};
  return spec;
}

inline LaunchSpec bare_spec() {
  LaunchSpec spec;
  spec.image = "busybox";
  spec.host_network = false;
  spec.host_ipc = false;
  spec.memlock_unlimited = false;
  return spec;
}

}  // namespace k3d::test
