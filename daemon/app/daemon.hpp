// The object graph, and its life from the first socket to the last.
#pragma once

#include "daemon/model/settings.hpp"

namespace k3d::app {

/// Runs until SIGTERM or SIGINT; a second one ends the process at once. The process's exit status: 0 after an orderly
/// stop, 1 if it can't start, with one line on standard error that says what to do.
/// `trouble`: what is wrong with the configuration, if `settings` are those of its last good copy.
int run_daemon(const Settings& settings, std::string trouble);

}  // namespace k3d::app
