// k3ctl plan: would it run, and how; asked of the daemon, or worked out here where the words say everything.
#include <ostream>

#include "api/contract/plan.hpp"
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/plan_offline.hpp"
#include "api/k3ctl/plan_view.hpp"
#include "api/k3ctl/present.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "daemon/planning/explain.hpp"

namespace k3d::cli {
namespace {

int print(Session& session, const PlanAnswer& answer, const std::string& body, bool explain) {
  if (session.json) {
    print_raw(session, body);
  } else if (explain) {
    session.out << safe_text(planning::explain(answer.plan), Lines::many) << std::flush;
  } else {
    session.out << plan_page(answer, session.terminal) << std::flush;
  }
  return plan_runs(answer.plan) ? kDone : kRefused;
}

int work_out_here(Session& session, const PlanQuestion& question, bool explain) {
  const Result<PlanAnswer> answer = plan_offline(question);
  if (answer) return print(session, *answer, api::plan_json(*answer), explain);
  session.err << "k3ctl: " << error_text(answer.error()) << std::endl;
  return kRefused;
}

}  // namespace

Task<int> run_plan(Session& session, PlanCommand command) {
  if (needs_no_daemon(command.question)) co_return work_out_here(session, command.question, command.explain);
  constexpr seconds kLimit{120};  // headers may come from the hub first
  Result<api::Answer> answer = co_await session.client.post("/api/v1/plan", api::plan_request_json(command.question), kLimit);
  if (!answer) co_return report_unreachable(session, answer.error());
  if (!answer->ok()) co_return report_refusal(session, *answer);
  const Result<PlanAnswer> plan = api::plan_from_json(answer->body);
  if (!plan) co_return report_nonsense(session, plan.error());
  co_return print(session, *plan, answer->body, command.explain);
}

}  // namespace k3d::cli
