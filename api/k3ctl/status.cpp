// k3ctl status.
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/status_view.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {

Task<int> run_status(Session& session, StatusCommand) {
  return show(session, session.client.get("/api/v1/status"),
              [](const Json& status) { return status_page(status, std::chrono::system_clock::now()); });
}

}  // namespace k3d::cli
