#include "config/overrides.hpp"

namespace k3d::config {

Result<Profile> with_overrides(const Profile& profile, const Overrides& set) {
  if (!set.empty()) return fail(Code::invalid_request, "there is no override \"" + set.begin()->first + "\"");
  return profile;
}

}  // namespace k3d::config
