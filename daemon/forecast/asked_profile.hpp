// Pure: what a question asks about, as a profile; and that profile with what a plan chose.
#pragma once

#include <functional>

#include "daemon/base/result.hpp"
#include "daemon/model/snapshot.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::forecast {

/// A profile with its overrides; error invalid_request.
using Overridden = std::function<Result<Profile>(const Profile&, const Overrides&)>;

/// The configured profile with the overrides that are in force. Overrides that no longer fit are left out.
Profile profile_in_force(const Profile& configured, const Snapshot& now, const Overridden& overridden);

/// Errors: unknown_profile; invalid_request, for a question without a model, with one that isn't known, or with settings
/// that the configuration would not take.
Result<Profile> asked_profile(const PlanQuestion& question, const Snapshot& now, const Overridden& overridden);

/// What the profile leaves open as the plan has it: batches, fit margins, expert layers, split. Its launch is the plan's.
Profile settled(Profile profile, const Plan& plan);

}  // namespace k3d::forecast
