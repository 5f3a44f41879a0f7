// k3ctl down.
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/follow.hpp"

namespace k3d::cli {

Task<int> run_down(Session& session, DownCommand command) {
  const std::string body = api::deactivate_request_json(command.request);
  Result<api::Answer> answer = co_await session.client.post("/api/v1/deactivate", body);
  if (!answer) co_return report_unreachable(session, answer.error());
  const std::string idle = "nothing runs";
  co_return co_await follow_answer(session, std::move(*answer), command.detach, idle);
}

}  // namespace k3d::cli
