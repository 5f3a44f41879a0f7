// This host's facts and processes by /proc. Small files only; nothing here waits. Not here: GPU memory (NVML).
#pragma once

#include <filesystem>

#include "daemon/ports/host_probe.hpp"

namespace k3d::adapters {

class ProcHost : public HostProbe {
 public:
  /// `gpus` is the NVIDIA driver's folder of GPUs, one entry per PCI address.
  explicit ProcHost(std::filesystem::path proc_root = "/proc", std::filesystem::path gpus = {})
      : root_(std::move(proc_root)), gpus_(gpus.empty() ? root_ / "driver/nvidia/gpus" : std::move(gpus)) {}

  HostFacts facts() override;
  int engine_pid(int container_pid) override;
  bool is_there(int pid) override;
  std::optional<ProcessIo> process_io(int pid) override;
  std::uint64_t oom_kills() override;
  bool port_taken(std::uint16_t port) override;
  std::uint16_t free_port() override;

 private:
  std::filesystem::path root_;
  std::filesystem::path gpus_;
};

}  // namespace k3d::adapters
