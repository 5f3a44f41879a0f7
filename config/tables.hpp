// The field tables of every section, in the order of the documentation.
#pragma once

#include "config/fields.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::config {

const Fields<Settings>& root_fields();
const Fields<ControlSettings>& control_fields();
const Fields<ProxySettings>& proxy_fields();
const Fields<DockerSettings>& docker_fields();
const Fields<HubSettings>& hub_fields();
const Fields<Source>& source_fields();
const Fields<Model>& model_fields();
const Fields<Profile>& profile_fields();
/// The keys that a placement of this mode has, `mode` among them.
const Fields<Placement>& placement_fields(PlacementMode mode);
const Fields<Speculative>& speculative_fields();

}  // namespace k3d::config
