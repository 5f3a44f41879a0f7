#include "daemon/doctor/verdict.hpp"

namespace k3d::doctor {

HostCheck passed(const Subject& subject, std::string measured) {
  return {subject.code, CheckResult::pass, std::move(measured), subject.why, {}};
}

HostCheck warned(const Subject& subject, std::string measured, std::string fix) {
  return {subject.code, CheckResult::warn, std::move(measured), subject.why, std::move(fix)};
}

HostCheck failed(const Subject& subject, std::string measured, std::string fix) {
  return {subject.code, CheckResult::fail, std::move(measured), subject.why, std::move(fix)};
}

HostCheck skipped(const Subject& subject, std::string reason, std::string fix) {
  return {subject.code, CheckResult::skip, std::move(reason), subject.why, std::move(fix)};
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const std::string& part : parts) out.append(out.empty() ? "" : between).append(part);
  return out;
}

}  // namespace k3d::doctor
