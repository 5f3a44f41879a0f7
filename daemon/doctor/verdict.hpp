// How a verdict is put together, and the words that several checks share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/host_report.hpp"

namespace k3d::doctor {

/// What a check is about, the same whatever it finds.
struct Subject {
  const char* code;
  const char* why;
};

HostCheck passed(const Subject& subject, std::string measured);
HostCheck warned(const Subject& subject, std::string measured, std::string fix);
HostCheck failed(const Subject& subject, std::string measured, std::string fix);
HostCheck skipped(const Subject& subject, std::string reason, std::string fix = {});

/// "a, b, c".
std::string joined(const std::vector<std::string>& parts, std::string_view between = ", ");

}  // namespace k3d::doctor
