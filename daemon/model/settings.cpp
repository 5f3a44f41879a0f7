#include "daemon/model/settings.hpp"

#include <algorithm>

namespace k3d {

const Profile* Settings::find_profile(const std::string& name) const {
  for (const Profile& profile : profiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

std::string image_tag(const Settings& settings, const Profile& profile) {
  if (!profile.image.empty()) return profile.image;
  const auto found = settings.sources.find(profile.source);
  if (found == settings.sources.end()) return {};
  const Source& source = found->second;
  const std::string version = source.kind == SourceKind::debian ? "latest" : source.commit.substr(0, 12);
  return "k3d-engine-" + source.name + ":" + version;
}

Error unknown_profile(const Settings& settings, const std::string& name) {
  std::string names;
  for (const Profile& profile : settings.profiles) names += (names.empty() ? "" : ", ") + profile.name;
  return {Code::unknown_profile, "there is no profile \"" + name + "\"",
          names.empty() ? "no profile is configured" : "the profiles are: " + names, {}};
}

bool answers_to(const Profile& profile, const std::string& name) {
  return name == profile.name || name == profile.model ||
         std::find(profile.aliases.begin(), profile.aliases.end(), name) != profile.aliases.end();
}

}  // namespace k3d
