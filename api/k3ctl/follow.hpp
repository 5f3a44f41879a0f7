// Following an operation to its end, through a daemon that may restart meanwhile.
#pragma once

#include <string>

#include "api/k3ctl/session.hpp"
#include "daemon/base/async/task.hpp"

namespace k3d::cli {

/// Shows the progress of operation `id` until it ends, then how it ended. kDone if it succeeded, kRefused if it
/// failed or was cancelled, kUnreachable if the daemon stays away longer than the session's patience.
Task<int> follow_operation(Session& session, std::string id);

/// What follows from the answer to a request that starts an operation: refused, already done (`idle` is then said),
/// or an operation that is followed, or with `detach` only named.
Task<int> follow_answer(Session& session, api::Answer answer, bool detach, std::string idle);

}  // namespace k3d::cli
