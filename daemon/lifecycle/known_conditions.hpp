// The conditions that the lifecycle itself raises, in an operator's words.
#pragma once

#include "daemon/base/error.hpp"
#include "daemon/model/snapshot.hpp"

namespace k3d::lifecycle {

Condition memlock_limited();
Condition live_restore_off();
Condition numa_balancing_on();
/// `health`: /health is answered, completions are not.
Condition engine_unresponsive(bool health);
Condition ghost_container(const std::string& name, int pid);
Condition gpus_unreadable(const Error& error);
Condition unproven_quant(const std::string& what);
Condition experts_spilled(Bytes bytes);
/// The engine's words.
Condition fit_given_up(const std::string& why);
Condition no_gpu_seen(const std::string& why);
/// By how much, in figures.
Condition memory_differs_from_plan(const std::string& how);
Condition config_drift(const std::string& profile);
/// docker_unavailable or docker_unresponsive, by the error's code.
Condition docker_trouble(const Error& error);

}  // namespace k3d::lifecycle
