#include "daemon/app/arguments.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>

#include "daemon/app/version.hpp"

namespace k3d::app {

std::variant<RunDaemon, CheckConfig, Exit> parse_arguments(int argc, char** argv) {
  CLI::App app("k3d serves one very large model with llama-server in Docker, and answers for it.", "k3d");
  app.footer(
      "Examples:\n"
      "  k3d --config /etc/k3d/k3d.yaml --check    list every mistake in the configuration\n"
      "  k3d --config /etc/k3d/k3d.yaml            serve, in the foreground; systemd: Type=notify\n"
      "SIGTERM ends k3d and leaves the engine running (on_exit); a second one ends it at once.\n"
      "k3ctl talks to it: k3ctl status, k3ctl up PROFILE.");
  std::string config = "/etc/k3d/k3d.yaml";
  bool check = false;
  log::Level level = log::Level::info;
  const std::map<std::string, log::Level> levels{{"debug", log::Level::debug}, {"info", log::Level::info},
                                                 {"warning", log::Level::warning}, {"error", log::Level::error}};
  app.add_option("--config", config, "the configuration")->capture_default_str()->type_name("FILE");
  app.add_flag("--check", check, "validate the configuration and exit: 0, or 1 with every mistake");
  app.add_option("--log-level", level, "debug, info, warning or error (default info)")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case))
      ->type_name("LEVEL");
  app.set_version_flag("--version", std::string("k3d ") + kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    const int status = app.exit(error, out, out) == 0 ? 0 : 2;
    return Exit{status, out.str()};
  }
  if (check) return CheckConfig{config};
  return RunDaemon{config, level};
}

}  // namespace k3d::app
