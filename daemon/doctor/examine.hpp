// From the facts of a host to what is right and wrong with it, and how to mend it. Pure. Not here: collecting the facts
// (adapters/host_survey), and whether a certain model fits (planning).
#pragma once

#include <vector>

#include "daemon/model/host_report.hpp"

namespace k3d::doctor {

/// The same codes in the same order on every host. A fact that is not known is skipped with the reason, never passed.
std::vector<HostCheck> examine(const HostReport& host);

}  // namespace k3d::doctor
