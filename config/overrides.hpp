// Settings of a profile that are changed beside the configuration: which keys may be, and what they do to a profile.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/model/overrides.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::config {

/// `profile` with `set` applied: values are read by the configuration's own shapes and checked by its own rules.
/// Allowed are context, slots, batch, ubatch, fit_target_mib (of a placement in mode fit), cache_type, cache_ram,
/// ctx_checkpoints and threads: nothing that names files, images, devices or arguments may come from a request.
/// Error invalid_request, naming the key and what is allowed.
Result<Profile> with_overrides(const Profile& profile, const Overrides& set);

}  // namespace k3d::config
