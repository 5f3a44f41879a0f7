// Every command of k3ctl: one function a file, called the same. Each returns the exit status.
#pragma once

#include "api/k3ctl/arguments.hpp"
#include "api/k3ctl/session.hpp"
#include "daemon/base/async/task.hpp"

namespace k3d::cli {

Task<int> run_status(Session& session, StatusCommand command);
Task<int> run_profiles(Session& session, ProfilesCommand command);
Task<int> run_up(Session& session, UpCommand command);
Task<int> run_down(Session& session, DownCommand command);
Task<int> run_logs(Session& session, LogsCommand command);
Task<int> run_ops(Session& session, OpsCommand command);
Task<int> run_cancel(Session& session, CancelCommand command);
Task<int> run_events(Session& session, EventsCommand command);
Task<int> run_chat(Session& session, ChatCommand command);
Task<int> run_override(Session& session, OverrideCommand command);
Task<int> run_history(Session& session, HistoryCommand command);
Task<int> run_plan(Session& session, PlanCommand command);
Task<int> run_quants(Session& session, QuantsCommand command);
Task<int> run_doctor(Session& session, DoctorCommand command);
Task<int> run_reload(Session& session, ReloadCommand command);

}  // namespace k3d::cli
