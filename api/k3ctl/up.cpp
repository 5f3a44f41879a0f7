// k3ctl up PROFILE.
#include <ostream>

#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/follow.hpp"
#include "api/k3ctl/present.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

/// The docker run line alone on standard output, so that it can be kept; the rest goes beside it.
int print_dry_run(Session& session, const api::Answer& answer) {
  if (session.json) {
    print_raw(session, answer.body);
    return kDone;
  }
  const Result<Json> body = parse_json(answer.body);
  if (!body) return report_nonsense(session, body.error());
  std::vector<std::string> words;
  const Json& line = json_member(json_member(*body, "launch"), "docker_run");
  if (line.is_array()) {
    for (const Json& word : line) words.push_back(word.is_string() ? word.get<std::string>() : std::string());
  }
  session.out << safe_text(shell_line(words)) << std::endl;
  const auto streams = json_int(*body, "streams_to_drain").value_or(0);
  if (streams > 0) session.err << "It would wait for " << streams << " answers in flight.\n";
  const Json& load = json_member(*body, "load_seconds");
  if (load.is_number()) session.err << "It would load for about " << duration_text(load.get<double>()) << ".\n";
  return kDone;
}

}  // namespace

Task<int> run_up(Session& session, UpCommand command) {
  const std::string target = "/api/v1/profiles/" + http::url_encode(command.profile) + "/activate";
  Result<api::Answer> answer = co_await session.client.post(target, api::activate_request_json(command.request));
  if (!answer) co_return report_unreachable(session, answer.error());
  if (command.request.dry_run && answer->ok()) co_return print_dry_run(session, *answer);
  const std::string idle = safe_text(command.profile) + " runs already";
  co_return co_await follow_answer(session, std::move(*answer), command.detach, idle);
}

}  // namespace k3d::cli
