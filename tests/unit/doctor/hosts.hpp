// Whole hosts as facts, and a look at one verdict of them.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/host_report.hpp"

namespace k3d::doctor::test {

/// Eight cards of the reference deployment, and nothing to complain of.
HostReport good();
/// Everything that can be wrong at once.
HostReport bad();
/// No driver, no Docker, and nobody looked at anything else.
HostReport bare();

GpuFacts card(int index);
DiskFacts weights(DiskKind kind);

HostCheck verdict(const HostReport& host, const std::string& code);
/// "fail gpu_mig", those that are not passed.
std::vector<std::string> complaints(const HostReport& host);

}  // namespace k3d::doctor::test
