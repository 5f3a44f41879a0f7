// This host's facts and processes by /proc. Small files only; nothing here waits. Not here: GPU memory (NVML).
#pragma once

#include <filesystem>

#include "daemon/ports/host_probe.hpp"

namespace k3d::adapters {

class ProcHost : public HostProbe {
 public:
  explicit ProcHost(std::filesystem::path proc_root = "/proc") : root_(std::move(proc_root)) {}

  HostFacts facts() override;
  int engine_pid(int container_pid) override;
  std::optional<ProcessIo> process_io(int pid) override;
  bool port_taken(std::uint16_t port) override;
  std::uint16_t free_port() override;

 private:
  std::filesystem::path root_;
};

}  // namespace k3d::adapters
