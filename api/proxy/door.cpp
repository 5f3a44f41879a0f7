#include "api/proxy/door.hpp"

namespace k3d::proxy {
namespace {

using std::chrono::steady_clock;

/// For an answer that needs no waiting.
constexpr seconds kAnswerLimit{5};

}  // namespace

Answer too_many() {
  Answer answer = error_answer({Code::too_many_requests, "this server answers as many requests as it may", {}, {}});
  answer.headers.emplace_back("Retry-After", std::to_string(kRetrySeconds));
  return answer;
}

Task<Passage> Door::pass(Judge judge) {
  refusal_.reset();
  promised_.reset();
  for (;;) {
    // The lifecycle's answer only says that it is worth looking again: the snapshot decides.
    const SnapshotPtr snapshot = worker_.snapshot();
    const Verdict verdict = judge(*snapshot);
    if (verdict.answer) co_return Passage{nullptr, verdict.answer};
    if (!verdict.wait) {
      hold_.reset();
      co_return Passage{snapshot, std::nullopt};
    }
    if (auto answer = settled(*snapshot, *verdict.wait)) co_return Passage{nullptr, std::move(answer)};
    if (!hold_) hold_.emplace(worker_, socket_);
    co_await ask(*verdict.wait, snapshot);
    if (hold_->left()) co_return Passage{};
  }
}

std::optional<Answer> Door::settled(const Snapshot& snapshot, const Wait& wait) const {
  if (worker_.ending()) return refused(snapshot, wait, {Code::shutting_down, "k3d is stopping", {}, {}});
  if (refusal_ && refusal_->profile == wait.profile) return refused(snapshot, wait, refusal_->error);
  if (!hold_) return worker_.full() ? std::optional(too_many()) : std::nullopt;
  const bool time_is_up = wait.hold > seconds(0) && steady_clock::now() >= hold_->since() + wait.hold;
  if (time_is_up || promised_.get() == &snapshot) return still_loading(snapshot);
  return std::nullopt;
}

Task<void> Door::ask(Wait wait, SnapshotPtr snapshot) {
  const bool waits = wait.hold > seconds(0);
  const SteadyTime now = steady_clock::now();
  const SteadyTime until = waits ? hold_->since() + wait.hold : now;
  Wanted wanted{wait.profile, wait.switch_over, "request from " + address_};
  const std::optional<Status> said = co_await hold_->ask(std::move(wanted), until, waits ? until : now + kAnswerLimit);
  if (said && *said) promised_ = std::move(snapshot);
  if (said && !*said) refusal_ = Refusal{wait.profile, said->error()};
  if (!said && !waits) refusal_ = Refusal{wait.profile, {Code::model_loading, "k3d takes its time", {}, {}}};
}

}  // namespace k3d::proxy
