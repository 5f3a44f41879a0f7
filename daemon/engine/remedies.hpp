// Which change of a profile's settings avoids a failure, if one does. Pure. Not here: that it is applied, by a person
// or by self_heal (daemon/lifecycle), and which keys may be overridden (config/overrides).
#pragma once

#include <optional>
#include <string>

#include "daemon/model/failure.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::engine {

/// For a failure of the catalogue's `code` that happened with `profile`, overrides applied. Applied again and again it
/// goes further each time; nothing once no setting is left that could help, or where none ever does.
std::optional<Remedy> remedy_for(const std::string& code, const Profile& profile);

}  // namespace k3d::engine
