// Sources and models that k3d knows by itself, as data. Entries of the same name override them key by key.
#pragma once

#include <map>
#include <string>

#include "daemon/model/settings.hpp"

namespace k3d::config {

std::map<std::string, Source> builtin_sources();
std::map<std::string, Model> builtin_models();

}  // namespace k3d::config
