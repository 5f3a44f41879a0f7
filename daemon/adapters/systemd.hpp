// The service manager by libsystemd: readiness, status line, watchdog, passed sockets. Does nothing without one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/ports/notifier.hpp"

namespace k3d::adapters {

std::unique_ptr<Notifier> systemd_notifier();

/// The descriptors that systemd passed to this process, in their order: by socket activation, and those that it kept
/// over a restart. Only the first call finds them.
std::vector<PassedSocket> passed_sockets();

/// Half the watchdog's period, or zero without one.
unsigned watchdog_milliseconds();

}  // namespace k3d::adapters
