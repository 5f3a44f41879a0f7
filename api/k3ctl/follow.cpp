#include "api/k3ctl/follow.hpp"

#include <optional>
#include <ostream>

#include "api/contract/operation.hpp"
#include "api/k3ctl/present.hpp"
#include "api/k3ctl/progress.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

/// How long one question for a newer state waits at the daemon, and how much longer the answer may take.
constexpr int kWaitSeconds = 30;
constexpr milliseconds kWaitDeadline{(kWaitSeconds + 15) * 1000};
constexpr milliseconds kRetryPause{500};

/// The live line or the plain ones. Says nothing with --json.
class ProgressView {
 public:
  explicit ProgressView(Session& session) : session_(session) {}

  void show(Operation operation) {
    if (session_.json) return;
    rate_.complete(operation.progress, std::chrono::steady_clock::now());
    if (session_.terminal.live) {
      session_.out << '\r' << progress_line(operation, session_.terminal.width - 1) << "\x1b[K" << std::flush;
      drawn_ = true;
    } else if (const auto line = plain_.next(operation)) {
      session_.out << *line << std::endl;
    }
  }
  /// Takes the live line away, so that something else can be said.
  void clear() {
    if (drawn_) session_.out << "\r\x1b[K" << std::flush;
    drawn_ = false;
  }

 private:
  Session& session_;
  PlainProgress plain_;
  RateMeter rate_;
  bool drawn_ = false;
};

/// The daemon's absence while something is followed: said once, borne as long as the session's patience.
class Absence {
 public:
  explicit Absence(Session& session) : session_(session) {}

  void over() { since_.reset(); }
  /// False when it lasts too long; else a pause has passed and another try is due.
  Task<bool> bear(ProgressView& view) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!since_) {
      since_ = now;
      view.clear();
      session_.err << "k3d does not answer; trying again for " << duration_text(patience_seconds()) << std::endl;
    }
    if (now - *since_ >= session_.patience) co_return false;
    co_return co_await sleep_for(kRetryPause);
  }

 private:
  [[nodiscard]] double patience_seconds() const { return std::chrono::duration<double>(session_.patience).count(); }

  Session& session_;
  std::optional<SteadyTime> since_;
};

/// Waits at the daemon until its state is another one than `revision`; gives the new revision, or the old one if
/// nothing happened.
Task<Result<std::string>> wait_for_change(Session& session, std::string revision) {
  std::string target = "/api/v1/status";
  if (!revision.empty()) {
    target += "?wait=" + std::to_string(kWaitSeconds) + "&since=" + http::url_encode(revision);
  }
  Result<api::Answer> answer = co_await session.client.get(target, kWaitDeadline);
  if (!answer) co_return fail(answer.error());
  if (answer->status == 304) co_return revision;
  if (!answer->ok()) co_return fail(answer->problem());
  Result<Json> status = parse_json(answer->body);
  if (!status) co_return fail(status.error());
  co_return json_text(*status, "revision");
}

/// The log's last lines, from the failure that this operation left in the status.
std::string evidence_of(const Json& status, const std::string& operation_id) {
  const Json& failure = json_member(status, "last_failure");
  if (json_string(failure, "operation_id") != operation_id) return {};
  const Json& lines = json_member(failure, "log_excerpt");
  if (!lines.is_array() || lines.empty()) return {};
  std::string out = "  the engine's last words (more with `k3ctl logs";
  if (const auto attempt = json_int(failure, "attempt")) out += " --attempt " + std::to_string(*attempt);
  out += "`):\n";
  for (const Json& line : lines) {
    if (line.is_string()) out += "  | " + safe_text(line.get<std::string>()) + "\n";
  }
  return out;
}

std::string ended_badly(const Operation& operation) {
  const bool cancelled = operation.state == OperationState::cancelled;
  std::string out = operation_title(operation) + (cancelled ? " was cancelled" : " failed");
  if (operation.error) {
    const OperationError& error = *operation.error;
    const std::string title = error.title.empty() ? error.code : error.title;
    out += ": " + error_text(title, error.detail, error.advice);
  }
  out += '\n';
  if (!operation.rolled_back_to.empty()) {
    out += "  rolled back: " + safe_text(operation.rolled_back_to) + " runs again\n";
  }
  return out;
}

std::string ended_well(const Operation& operation) {
  std::string out = operation.kind == OperationKind::activate ? safe_text(operation.profile) + " is ready" : "stopped";
  if (operation.finished_at) out += " after " + duration_between(operation.created_at, *operation.finished_at);
  return out;
}

Task<int> report_end(Session& session, Operation operation, std::string raw) {
  session.parting_words.clear();
  if (session.json) print_raw(session, raw);
  if (operation.state == OperationState::succeeded) {
    if (!session.json) session.out << ended_well(operation) << std::endl;
    co_return kDone;
  }
  session.err << ended_badly(operation);
  Result<api::Answer> answer = co_await session.client.get("/api/v1/status");
  if (answer && answer->ok()) {
    const Result<Json> status = parse_json(answer->body);
    if (status) session.err << evidence_of(*status, operation.id.value);
  }
  session.err.flush();
  co_return kRefused;
}

bool is_absence(const api::Answer& answer) {
  return !answer.ok() && answer.problem().code == Code::shutting_down;
}

int report_lost(Session& session, const Error& error, const std::string& id) {
  session.parting_words.clear();
  const int status = report_unreachable(session, error);
  if (status == kUnreachable) {
    session.err << "  The operation may go on when k3d is back: k3ctl ops " << safe_text(id) << std::endl;
  }
  return status;
}

}  // namespace

Task<int> follow_operation(Session& session, std::string id) {
  session.parting_words = "It goes on without you. Look again with `k3ctl ops " + safe_text(id) +
                          "`, stop it with `k3ctl cancel " + safe_text(id) + "`.";
  ProgressView view(session);
  Absence absence(session);
  std::string revision;
  for (;;) {
    Result<api::Answer> answer = co_await session.client.get("/api/v1/operations/" + http::url_encode(id));
    std::optional<Error> lost;
    if (!answer) lost = answer.error();
    if (answer && is_absence(*answer)) lost = answer->problem();
    if (!lost) {
      absence.over();
      if (!answer->ok()) {
        view.clear();
        co_return report_refusal(session, *answer);
      }
      Result<Operation> operation = api::operation_from_json(answer->body);
      if (!operation) co_return report_nonsense(session, operation.error());
      view.show(*operation);
      if (operation->ended()) {
        view.clear();
        co_return co_await report_end(session, std::move(*operation), std::move(answer->body));
      }
      // The revision is older than the operation just read, so that no change in between is slept through.
      Result<std::string> changed = co_await wait_for_change(session, revision);
      if (changed) revision = std::move(*changed);
      if (!changed) lost = changed.error();
    }
    if (!lost) continue;
    if (lost->code == Code::cancelled) co_return kInterrupted;
    revision.clear();
    if (!co_await absence.bear(view)) {
      view.clear();
      co_return report_lost(session, *lost, id);
    }
  }
}

Task<int> follow_answer(Session& session, api::Answer answer, bool detach, std::string idle) {
  if (!answer.ok()) co_return report_refusal(session, answer);
  const Result<Json> body = parse_json(answer.body);
  if (!body) co_return report_nonsense(session, body.error());
  const std::string id = json_text(*body, "id");
  const std::string state = json_text(*body, "state");
  const bool goes_on = !id.empty() && (state == "queued" || state == "running");
  if (!goes_on || detach) {
    if (session.json) {
      print_raw(session, answer.body);
    } else {
      session.out << (goes_on ? safe_text(id) : idle) << std::endl;
    }
    co_return kDone;
  }
  co_return co_await follow_operation(session, id);
}

}  // namespace k3d::cli
