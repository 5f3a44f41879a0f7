// Ports: a slow and thorough look at this host, for the doctor. Implemented by adapters/host_survey and adapters/nvml.
#pragma once

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/model/host_report.hpp"
#include "daemon/model/snapshot.hpp"

namespace k3d {

class GpuInspector {
 public:
  virtual ~GpuInspector() = default;
  /// More than a GpuProbe reads, and a card that is lost does not hide the others. Errors and limit as GpuProbe's.
  virtual Task<Result<GpuReport>> inspect() = 0;
};

class HostSurvey {
 public:
  virtual ~HostSurvey() = default;
  /// Never fails: what can't be looked at in time is unknown. Within 20 s; a few seconds old at most, unless
  /// `probe_disks`, which also reads from the disks for some seconds. `now` tells which engine and settings are ours.
  virtual Task<HostReport> take(SnapshotPtr now, bool probe_disks) = 0;
};

}  // namespace k3d
