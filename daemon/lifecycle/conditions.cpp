#include "daemon/lifecycle/conditions.hpp"

#include <algorithm>

namespace k3d::lifecycle {
namespace {

auto find_code(auto& list, const std::string& code) {
  return std::find_if(list.begin(), list.end(), [&code](const Condition& c) { return c.code == code; });
}

}  // namespace

bool Conditions::set(Condition condition) {
  const auto found = find_code(list_, condition.code);
  if (found == list_.end()) {
    list_.push_back(std::move(condition));
    return true;
  }
  if (found->detail == condition.detail && found->severity == condition.severity) return false;
  condition.since = found->since;
  *found = std::move(condition);
  return true;
}

bool Conditions::has(const std::string& code) const { return find_code(list_, code) != list_.end(); }

bool Conditions::clear(const std::string& code) {
  const auto found = find_code(list_, code);
  if (found == list_.end()) return false;
  list_.erase(found);
  return true;
}

}  // namespace k3d::lifecycle
