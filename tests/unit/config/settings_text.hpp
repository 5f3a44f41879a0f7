// Settings as text, so that tests can compare and keep them. Not a format that anything reads.
#pragma once

#include <string>

#include "daemon/model/settings.hpp"

namespace k3d::config {

std::string settings_text(const Settings& settings);

}  // namespace k3d::config
