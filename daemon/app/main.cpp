// k3d, the daemon: reads its arguments, checks or runs.
#include <sys/stat.h>

#include <csignal>
#include <iostream>

#include "config/config.hpp"
#include "config/last_good.hpp"
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
  Result<config::Usable> usable = config::load_usable(action.config);
  if (!usable) {
    std::cerr << usable.error().text() << "\n";
    return 1;
  }
  if (!usable->trouble.empty()) std::cerr << usable->trouble << "\nk3d serves by the last good configuration\n";
  return app::run_daemon(usable->settings, std::move(usable->trouble));
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
  // It means that the configuration is to be read again, as soon as there is someone to do it.
  std::signal(SIGHUP, SIG_IGN);
  ::umask(0077);
  return std::visit(Act{}, app::parse_arguments(argc, argv));
}
