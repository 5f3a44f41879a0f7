// The daemon's command line.
#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "daemon/base/log.hpp"

namespace k3d::app {

struct RunDaemon {
  std::filesystem::path config;
  log::Level level = log::Level::info;
};
struct CheckConfig {
  std::filesystem::path config;
};
/// --help, --version or a usage error: `text` goes to standard output if the status is 0, else to standard error.
struct Exit {
  int status = 0;
  std::string text;
};

std::variant<RunDaemon, CheckConfig, Exit> parse_arguments(int argc, char** argv);

}  // namespace k3d::app
