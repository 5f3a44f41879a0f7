// The Docker Engine.
#include <fmt/format.h>

#include "daemon/doctor/checks.hpp"
#include "daemon/doctor/verdict.hpp"

namespace k3d::doctor {

HostCheck check_docker_engine(const HostReport& host) {
  constexpr Subject kSubject{"docker_engine", "engines run in containers: without Docker nothing can be started"};
  if (!host.docker) {
    const Error& error = host.docker.error();
    const std::string words = error.cause.empty() ? error.message : error.message + ": " + error.cause;
    return failed(kSubject, words, error.hint.empty() ? "look at `systemctl status docker`" : error.hint);
  }
  const DockerFacts& docker = *host.docker;
  return passed(kSubject, fmt::format("{}, API {}, {}", docker.version, docker.api_version, docker.cdi ? "CDI" : "no CDI"));
}

HostCheck check_docker_live_restore(const HostReport& host) {
  constexpr Subject kSubject{"docker_live_restore",
                             "without live-restore a restart of Docker ends the model, and loading it again takes minutes"};
  if (!host.docker) return skipped(kSubject, "Docker can't be asked");
  if (host.docker->live_restore) return passed(kSubject, "on");
  return warned(kSubject, "off", "set {\"live-restore\": true} in /etc/docker/daemon.json and run `systemctl reload docker`");
}

HostCheck check_docker_memlock(const HostReport& host) {
  constexpr Subject kSubject{"docker_memlock", "an engine that may not lock memory can't keep its weights from being swapped "
                                               "out or pin the buffers that feed the GPUs"};
  const std::string fix = "`systemctl edit containerd` and docker: LimitMEMLOCK=infinity under [Service]; in a container, give "
                          "it CAP_SYS_RESOURCE";
  if (host.memlock_refused) return warned(kSubject, "refused at the last start of an engine", fix);
  if (!host.memlock) return skipped(kSubject, host.memlock.error());
  const MemlockFacts& facts = *host.memlock;
  if (facts.unlimited) return passed(kSubject, "unlimited for " + facts.process);
  if (facts.may_raise) return passed(kSubject, facts.process + " may lift it");
  return warned(kSubject, "limited for " + facts.process + ", which may not lift it", fix);
}

}  // namespace k3d::doctor
