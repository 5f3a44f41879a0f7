// The service manager by libsystemd: readiness, status line, watchdog, passed sockets. Does nothing without one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/ports/notifier.hpp"

namespace k3d::adapters {

std::unique_ptr<Notifier> systemd_notifier();

/// The descriptors that systemd passed to this process (socket activation), in their order.
std::vector<int> passed_sockets();

/// Half the watchdog's period, or zero without one.
unsigned watchdog_milliseconds();

}  // namespace k3d::adapters
