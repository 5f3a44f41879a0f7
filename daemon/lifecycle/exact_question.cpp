// Effects, the part that asks the engine itself for its figures because someone wants to know, not to start. Such a
// question loads for a moment what a start would: it takes part in the exclusion as any operation that needs the GPUs.
#include "daemon/base/secret.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/measured_memory.hpp"
#include "daemon/lifecycle/planned_exact.hpp"
#include "daemon/lifecycle/supervisor.hpp"

namespace k3d::lifecycle {

struct Effects::ExactQuestion {
  Profile profile;
  std::shared_ptr<const Plan> plan;
  OperationId holder;
  Changes arrived;
  bool ended = false;
  std::optional<Result<ExactFigures>> answer;
};

namespace {

/// Whatever ends it, also a cancellation.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> work) : work_(std::move(work)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { work_(); }

 private:
  std::function<void()> work_;
};

}  // namespace

Task<Result<ExactFigures>> Effects::exact_figures(Profile profile, std::shared_ptr<const Plan> plan) {
  const auto question = std::make_shared<ExactQuestion>();
  question->profile = std::move(profile);
  question->plan = std::move(plan);
  question->holder = OperationId("plan-" + random_hex(4));
  const Status held = owner_.hold_gpus(question->holder, [this] { retire(std::move(exact_)); });
  if (!held) co_return fail(held.error());
  begin(exact_, answer_exactly(question));
  while (!question->ended) co_await question->arrived.wait(SteadyTime::max());
  if (!question->answer) co_return fail(Code::cancelled, "an activation wanted the GPUs", "ask again once it serves or is down");
  co_return std::move(*question->answer);
}

Task<void> Effects::answer_exactly(std::shared_ptr<ExactQuestion> question) {
  const AtEnd end([this, question] {
    question->ended = true;
    question->arrived.notify();
    owner_.release_gpus(question->holder);
  });
  Result<Launch> launch = co_await launch_of(question->profile);
  if (!launch) {
    question->answer = fail(launch.error());
    co_return;
  }
  const auto figures = co_await engine_figures(owner_.ports_.containers, std::move(*launch), owner_.settings_->instance);
  if (figures) {
    question->answer = ExactFigures{measured_of(*figures), beside(*question->plan, *figures)};
  } else {
    question->answer = fail(figures.error());
  }
}

Task<Result<ExactFigures>> Supervisor::exact_figures(Profile profile, std::shared_ptr<const Plan> plan) {
  return effects_->exact_figures(std::move(profile), std::move(plan));
}

}  // namespace k3d::lifecycle
