// Settings of a profile that are changed beside the configuration: which keys may be, and what they do to a profile.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/model/overrides.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::config {

/// `profile` with `set` applied, checked like the configuration itself. Only keys that change how much memory the
/// engine takes are allowed: nothing that names files, images, devices or arguments may come from a request.
/// Error invalid_request, naming the key and what is allowed.
Result<Profile> with_overrides(const Profile& profile, const Overrides& set);

}  // namespace k3d::config
