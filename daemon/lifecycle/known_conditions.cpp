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

Condition numa_balancing_on() {
  return make("numa_balancing_on", Severity::warning, "The kernel moves memory between NUMA nodes",
              "kernel.numa_balancing is on: a load of hundreds of gigabytes may stand still for minutes, and experts on "
              "the CPU compute slower",
              "run `sysctl -w kernel.numa_balancing=0`, and write kernel.numa_balancing = 0 to /etc/sysctl.d/k3d.conf");
}

Condition engine_unresponsive(bool health) {
  return make("engine_unresponsive", Severity::error, "The engine does not answer",
              health ? "/health is answered, but requests wait and completions hang, and for a minute its process used no "
                       "CPU time and logged nothing"
                     : "/health is silent, and for a minute its process used no CPU time and logged nothing",
              "look at `k3ctl logs` and at whether its container is paused (`docker ps`); `k3ctl up --restart PROFILE` "
              "loads it again");
}

Condition ghost_container(const std::string& name, int pid) {
  return make("ghost_container", Severity::error, "Docker shows an engine as running that has no process",
              "container " + name + " is running by Docker's word, but process " + std::to_string(pid) + " is gone",
              "run `docker rm -f " + name + "`; if that hangs, restart Docker");
}

Condition gpus_unreadable(const Error& error) {
  return make("gpus_unreadable", Severity::error, "The GPUs can't be read", error.text(),
              error.hint.empty() ? "see whether nvidia-smi answers, and `dmesg | grep -i nvrm`" : error.hint);
}

Condition unproven_quant(const std::string& what) {
  return make("unproven_quant", Severity::warning, "This quant's kernels are not proven on this host", what,
              "look at its answers before you trust them; wrong kernels give fluent nonsense");
}

Condition experts_spilled(Bytes bytes) {
  return make("experts_spilled", Severity::warning, "Experts are on the CPU that were meant for the GPUs",
              format_bytes(bytes) + " of weights did not fit into the GPUs' memory: answers come slower, silently",
              "see who else holds GPU memory (`k3ctl status`), or lower context, slots or fit_target_mib, then load again");
}

Condition fit_given_up(const std::string& why) {
  return make("fit_given_up", Severity::warning, "The engine loaded without fitting itself to the GPUs", why,
              "free the GPUs, or lower context, slots or fit_target_mib, or use a smaller quant");
}

Condition no_gpu_seen(const std::string& why) {
  return make("no_gpu_seen", Severity::error, "The engine sees no GPU and computes on the CPU", why,
              "run nvidia-smi on this host and `nvidia-ctk cdi generate`, and see that the image was built with CUDA");
}

Condition memory_differs_from_plan(const std::string& how) {
  return make("memory_differs_from_plan", Severity::warning, "The engine took other memory than planned", how,
              "the next plan of the same inputs counts with what was measured; report it if the weights differ");
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
