// The doctor's look at this host: what /proc, /sys, the disks, Docker and the driver tell, each within its time. Not here:
// the single facts (proc_*, nvml, tailscale), and what they mean (doctor).
#pragma once

#include <filesystem>
#include <memory>

#include "daemon/ports/containers.hpp"
#include "daemon/ports/host_survey.hpp"

namespace k3d::adapters {

struct SurveyOptions {
  std::filesystem::path root = "/";
  std::filesystem::path driver_version = "/proc/driver/nvidia/version";
  milliseconds limit{5'000};        ///< for the machine and the disks, and for Docker
  milliseconds fresh{3'000};        ///< as long a report is given again
  milliseconds probe_limit{2'000};  ///< of reading for each disk
};

/// Of the loop `loop`. `gpus` and `containers` outlive it.
std::unique_ptr<HostSurvey> host_survey(Executor loop, GpuInspector& gpus, Containers& containers, SurveyOptions options = {});

}  // namespace k3d::adapters
