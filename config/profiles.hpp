// Profiles: what `extends` makes of them, and their decoding. Rules between keys and sections: validate.hpp.
#pragma once

#include <vector>

#include "config/fields.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::config {

/// A profile as the file has it (`own`) and with what it extends merged in (`entries`).
struct ProfileText {
  std::string name;
  Entries own, entries;
  Node env;  ///< the merged env, if it comes from more than one profile
};

/// The profiles in the order of the file. Reports unknown bases, cycles and chains that are too long. The result
/// points into `node`, and into itself: don't copy it.
std::vector<ProfileText> resolve_profiles(const Node& node, Place place, Reporter& reporter);

/// One resolved profile by the field tables.
Profile decode_profile(const ProfileText& text, Reporter& reporter);

}  // namespace k3d::config
