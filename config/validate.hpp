// Rules that look at more than one key: references, what excludes or needs what, addresses and who reaches them.
#pragma once

#include <vector>

#include "config/fields.hpp"
#include "config/profiles.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::config {

void validate_source(const Source& source, const Entries& written, Reporter& reporter);
void validate_model(const Model& model, const Entries& written, Reporter& reporter);

/// Profiles against sources, models and each other; `texts` are in the order of `settings.profiles`.
void validate_profiles(const Settings& settings, const std::vector<ProfileText>& texts, Reporter& reporter);

/// The rules between one profile's numbers: context for its slots, ubatch within batch, a number for each GPU.
void validate_sizes(const Profile& profile, const Entries& written, Reporter& reporter);

/// control.listen and proxy.listen: who may be reached how, and that none is there twice.
void validate_listeners(const Settings& settings, const Entries& control, const Entries& proxy, Reporter& reporter);
/// boot: names a profile that there is.
void validate_boot(const Settings& settings, const Entries& root, Reporter& reporter);
void validate_docker(const DockerSettings& docker, const Entries& written, Reporter& reporter);

}  // namespace k3d::config
