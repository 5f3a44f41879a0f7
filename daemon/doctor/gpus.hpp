// What the checks of GPUs and of their CDI names share.
#pragma once

#include <string>

#include "daemon/model/host_report.hpp"

namespace k3d::doctor {

/// Why no card can be asked about; empty: some can.
std::string no_gpus_to_ask(const HostReport& host);

}  // namespace k3d::doctor
