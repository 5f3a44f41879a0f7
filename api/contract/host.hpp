// GET host as JSON: facts of this host, and what the doctor makes of them.
#pragma once

#include <string>

#include "daemon/model/host_report.hpp"

namespace k3d::api {

std::string host_json(const HostDiagnosis& diagnosis);

}  // namespace k3d::api
