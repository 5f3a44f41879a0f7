// A profile with a remedy applied, as the configuration would read it.
#pragma once

#include "daemon/model/overrides.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::engine::test {

Profile with(Profile profile, const Overrides& set);

}  // namespace k3d::engine::test
