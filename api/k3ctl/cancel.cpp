// k3ctl cancel ID.
#include <ostream>

#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/safe_text.hpp"

namespace k3d::cli {

Task<int> run_cancel(Session& session, CancelCommand command) {
  Result<api::Answer> answer = co_await session.client.remove("/api/v1/operations/" + http::url_encode(command.id));
  if (!answer) co_return report_unreachable(session, answer.error());
  if (!answer->ok()) co_return report_refusal(session, *answer);
  if (session.json) {
    print_raw(session, answer->body);
  } else {
    session.out << safe_text(command.id) << " is being cancelled" << std::endl;
  }
  co_return kDone;
}

}  // namespace k3d::cli
