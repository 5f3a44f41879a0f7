#include "daemon/lifecycle/known_conditions.hpp"

namespace k3d::lifecycle {
namespace {

Condition make(std::string code, Severity severity, std::string title, std::string detail, std::string advice) {
  return {std::move(code), severity, {}, std::move(title), std::move(detail), std::move(advice)};
}

}  // namespace

Condition memlock_limited() {
  return make("memlock_limited", Severity::info, "The engine can't lock unlimited memory",
              "this host refuses to raise the memlock limit of a container, so the engine runs with the default limit",
              "allow it with LimitMEMLOCK=infinity in a drop-in of docker.service");
}

Condition live_restore_off() {
  return make("live_restore_off", Severity::warning, "A restart of Docker ends the model",
              "Docker runs without live-restore: when dockerd restarts, the loaded engine is killed",
              "set {\"live-restore\": true} in /etc/docker/daemon.json and run `systemctl reload docker`");
}

Condition config_drift(const std::string& profile) {
  return make("config_drift", Severity::warning, "The running engine differs from the configuration",
              "profile " + profile + " was started from other settings, another image or other files than it has now",
              "activate it with \"restart\" when a reload suits you");
}

Condition docker_trouble(const Error& error) {
  const bool silent = error.code == Code::docker_unresponsive;
  return make(silent ? "docker_unresponsive" : "docker_unavailable", Severity::error,
              silent ? "Docker does not answer" : "Docker can't be reached", error.text(),
              error.hint.empty() ? "look at `systemctl status docker`" : error.hint);
}

}  // namespace k3d::lifecycle
