// What differs between two readings of the configuration, by the names of its keys, and what of it needs a restart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/settings.hpp"

namespace k3d::config {

/// Names of what differs in meaning, in the documentation's order: "boot", "control.listen", "sources.fork",
/// "models.demo", "profiles.batch". The order of profiles, listeners, hosts, origins and aliases has no meaning, nor
/// has the file's name.
std::vector<std::string> differences(const Settings& before, const Settings& after);

/// Whether k3d takes this up only when it starts: its identity (instance, state), its listeners and who may use the
/// control API (control.*, proxy.listen), and its connection to Docker (docker.*). The rest is read when it is used,
/// profiles, models and sources at their next activation.
bool needs_restart(std::string_view name);

}  // namespace k3d::config
