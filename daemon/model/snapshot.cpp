#include "daemon/model/snapshot.hpp"

namespace k3d {

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::stopped: return "stopped";
    case Phase::preparing: return "preparing";
    case Phase::starting: return "starting";
    case Phase::loading: return "loading";
    case Phase::probing: return "probing";
    case Phase::ready: return "ready";
    case Phase::draining: return "draining";
    case Phase::stopping: return "stopping";
    case Phase::backoff: return "backoff";
    case Phase::failed: return "failed";
  }
  return {};
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return {};
}

}  // namespace k3d
