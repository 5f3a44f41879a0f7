// A profile as the API shows it: what the configuration says, and what is known of it on this host.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <memory>
#include <optional>
#include <string>

#include "daemon/model/settings.hpp"
#include "daemon/model/snapshot.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::api {

using Json = nlohmann::ordered_json;

enum class ProfileState { active, starting, stopped, failed };
std::string_view to_string(ProfileState state);

/// Active while its engine takes requests; starting while k3d works towards it; failed if the last failure is its own.
ProfileState profile_state(const Snapshot& snapshot, const std::string& name);

/// What this host knows without asking the network; nothing means unknown.
struct ProfileFacts {
  std::optional<bool> image_present;
  std::shared_ptr<const Result<PlanAnswer>> outlook;  ///< its newest plan, or why there is none; null: unknown
};

/// The form of lists. `snapshot.settings` must be set.
Json profile_object(const Snapshot& snapshot, const Profile& profile, const ProfileFacts& facts);
/// The form of GET profiles/{name}: also `config` (resolved) and `plan`.
std::string profile_json(const Snapshot& snapshot, const Profile& profile, const ProfileFacts& facts);

/// The profile with every default filled in, in the configuration's own words.
Json profile_config_object(const Profile& profile);

}  // namespace k3d::api
