#include "tests/unit/engine/apply.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace k3d::engine::test {
namespace {

/// Of "6144" or "[6144, 8192]".
std::vector<int> numbers(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < '0' || c > '9'; }, ' ');
  std::istringstream in(text);
  return {std::istream_iterator<int>(in), {}};
}

}  // namespace

Profile with(Profile profile, const Overrides& set) {
  for (const auto& [key, value] : set) {
    if (key == "fit_target_mib") {
      profile.placement.fit_target_mib = numbers(value);
    } else if (key == "ubatch") {
      profile.ubatch = std::stoi(value);
    } else if (key == "cache_type") {
      profile.cache_type = value;
    } else if (key == "cache_ram") {
      profile.cache_ram = std::stoull(value);
    } else if (key == "ctx_checkpoints") {
      profile.ctx_checkpoints = std::stoi(value);
    } else {
      ADD_FAILURE() << "no remedy sets " << key;
    }
  }
  return profile;
}

}  // namespace k3d::engine::test
