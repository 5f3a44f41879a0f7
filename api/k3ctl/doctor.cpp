// k3ctl doctor: would k3d run well on its host.
#include <ostream>

#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/doctor_view.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {

Task<int> run_doctor(Session& session, DoctorCommand command) {
  constexpr seconds kLimit{30}, kProbeLimit{180};
  auto asked = session.client.get(command.probe ? "/api/v1/host?probe=disk" : "/api/v1/host", command.probe ? kProbeLimit : kLimit);
  const Result<api::Answer> answer = co_await std::move(asked);
  if (!answer) co_return report_unreachable(session, answer.error());
  if (!answer->ok()) co_return report_refusal(session, *answer);
  const Result<Json> host = parse_json(answer->body);
  if (!host) co_return report_nonsense(session, host.error());
  if (session.json) {
    print_raw(session, answer->body);
  } else {
    session.out << doctor_page(*host, session.terminal.live) << std::flush;
  }
  co_return any_check_failed(*host) ? kRefused : kDone;
}

}  // namespace k3d::cli
