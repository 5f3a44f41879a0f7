// The inputs of a launch that tests begin with: the reference host, a profile of the real model.
#pragma once

#include "daemon/engine/command_line.hpp"
#include "tests/unit/engine/golden.hpp"

namespace k3d::engine::test {

inline CommandInputs inputs() {
  CommandInputs in;
  in.profile.name = "batch";
  in.profile.model = "kimi-k3";
  in.profile.source = "debian";
  in.profile.aliases = {"k3"};
  in.profile.context = 65536;
  in.profile.slots = 8;
  in.capabilities = debian();
  in.model_path = "/models/UD-Q2_K_XL/Kimi-K3-UD-Q2_K_XL-00001-of-00019.gguf";
  in.host.physical_cores = 64;
  in.host.ram_bytes = 1024 * kGiB;
  in.address.unix_path = "/var/lib/k3d/attempts/7/engine.sock";
  in.log_to_file = true;
  return in;
}

}  // namespace k3d::engine::test
