// k3ctl status.
#include <ostream>

#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/status_view.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {

Task<int> run_status(Session& session, StatusCommand) {
  Result<api::Answer> answer = co_await session.client.get("/api/v1/status");
  if (!answer) co_return report_unreachable(session, answer.error());
  if (!answer->ok()) co_return report_refusal(session, *answer);
  if (session.json) {
    print_raw(session, answer->body);
    co_return kDone;
  }
  const Result<Json> status = parse_json(answer->body);
  if (!status) co_return report_nonsense(session, status.error());
  session.out << status_page(*status, std::chrono::system_clock::now()) << std::flush;
  co_return kDone;
}

}  // namespace k3d::cli
