#include "api/k3ctl/session.hpp"

#include <ostream>

#include "api/client/address.hpp"
#include "api/k3ctl/present.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {

int report_unreachable(Session& session, const Error& error) {
  if (error.code == Code::cancelled) return kInterrupted;
  const http::Endpoint& endpoint = session.client.endpoint();
  const std::string detail = error.cause.empty() ? error.message : error.message + ": " + error.cause;
  std::string advice;
  if (error.code == Code::unreachable) {
    const api::SocketState socket =
        endpoint.unix_path.empty() ? api::SocketState() : api::look_at_socket(endpoint.unix_path);
    advice = api::unreachable_advice(endpoint, socket);
  } else {
    advice = "See what k3d is doing: `systemctl status k3d`, `journalctl -u k3d -e`.";
  }
  session.err << error_text("k3d does not answer at " + endpoint.describe(), detail, advice) << std::endl;
  return kUnreachable;
}

int report_refusal(Session& session, const api::Answer& answer) {
  if (session.json) print_raw(session, answer.body);
  Error problem = answer.problem();
  if (problem.code == Code::unauthorized && problem.hint.empty()) {
    problem.hint = "give the token with --token-file or K3D_TOKEN";
  }
  session.err << "k3ctl: " << error_text(problem) << std::endl;
  return kRefused;
}

void print_raw(Session& session, const std::string& body) {
  session.out << body;
  if (!body.ends_with('\n')) session.out << '\n';
  session.out.flush();
}

int report_nonsense(Session& session, const Error& error) {
  session.err << "k3ctl: "
              << error_text("the daemon's answer is not understood", error.text(),
                            "k3d and k3ctl may be of different versions: see `k3ctl --version`")
              << std::endl;
  return kRefused;
}

Task<int> show(Session& session, Task<Result<api::Answer>> asked, Page page) {
  const Result<api::Answer> answer = co_await std::move(asked);
  if (!answer) co_return report_unreachable(session, answer.error());
  if (!answer->ok()) co_return report_refusal(session, *answer);
  if (session.json) {
    print_raw(session, answer->body);
    co_return kDone;
  }
  const Result<Json> body = parse_json(answer->body);
  if (!body) co_return report_nonsense(session, body.error());
  const Result<std::string> text = page(*body);
  if (!text) co_return report_nonsense(session, text.error());
  session.out << *text << std::flush;
  co_return kDone;
}

}  // namespace k3d::cli
