// k3d, the daemon: reads its arguments, checks or runs.
#include <sys/stat.h>

#include <csignal>
#include <iostream>

#include "config/config.hpp"
#include "daemon/adapters/nvml_child.hpp"
#include "daemon/app/arguments.hpp"
#include "daemon/app/daemon.hpp"

namespace {

using namespace k3d;

int check(const app::CheckConfig& action) {
  const Result<Settings> settings = config::load(action.config);
  if (settings) {
    std::cout << action.config.string() << ": valid\n";
    return 0;
  }
  std::cerr << settings.error().text() << "\n";
  return 1;
}

int run(const app::RunDaemon& action) {
  log::set_level(action.level);
  const Result<Settings> settings = config::load(action.config);
  if (!settings) {
    std::cerr << settings.error().text() << "\n";
    return 1;
  }
  return app::run_daemon(*settings);
}

struct Act {
  int operator()(const app::RunDaemon& action) const { return run(action); }
  int operator()(const app::CheckConfig& action) const { return check(action); }
  int operator()(const app::Exit& action) const {
    (action.status == 0 ? std::cout : std::cerr) << action.text;
    return action.status;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> status = adapters::run_as_nvml_child(argc, argv)) return *status;
  // A log that nobody reads, or a client that leaves, must not end the daemon.
  std::signal(SIGPIPE, SIG_IGN);
  // Reading the configuration again is not built yet: a restart does it, and leaves the engine running.
  std::signal(SIGHUP, SIG_IGN);
  ::umask(0077);
  return std::visit(Act{}, app::parse_arguments(argc, argv));
}
