// Effects, the part that looks after an engine that serves. Silence is not death: a long prefill leaves /health
// unanswered; only a socket where nobody listens any more ends an engine.
#include "daemon/base/async/sleep.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/failure_of.hpp"
#include "daemon/lifecycle/known_conditions.hpp"
#include "daemon/lifecycle/liveness.hpp"
#include "daemon/lifecycle/supervisor.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;

constexpr seconds kProbeLimit{30};
constexpr const char* kUnheard = "nothing has listened at its address for a minute, though its process is there";

}  // namespace

Task<LivenessMeter::Sample> Effects::look_at(Engine engine) {
  LivenessMeter::Sample sample;
  const Result<Health> health = co_await owner_.ports_.engines.health(engine.launch.address);
  if (health) sample.health = *health;
  sample.io = figures_of(engine);
  sample.log_length = co_await length_of(engine.launch.folder / "engine.log");
  sample.in_flight = owner_.ports_.traffic.view().in_flight;
  co_return sample;
}

Task<void> Effects::guard(Engine engine) {
  LivenessMeter meter(steady_clock::now(), owner_.ports_.pace.quiet);
  while (co_await sleep_for(owner_.ports_.pace.guard)) {
    engine.pid = co_await first_process(engine);
    const LivenessMeter::Sample sample = co_await look_at(engine);
    Liveness verdict = meter.sample(sample, steady_clock::now());
    if (verdict == Liveness::dead) {
      // Again at every look: while a switch prepares or drains nobody takes notice. The stop ends this watch.
      post(event::GaveUp{engine.launch.attempt, named_failure("engine_unreachable", engine.launch.profile,
                                                              engine.launch.attempt, kUnheard)});
      continue;
    }
    if (verdict == Liveness::suspicious) {
      const Status answered = co_await owner_.ports_.engines.probe(engine.launch.address, kProbeLimit);
      if (answered) meter.answered(steady_clock::now());
      verdict = answered ? Liveness::fine : Liveness::unresponsive;
    }
    if (verdict == Liveness::unresponsive) {
      owner_.set_condition(engine_unresponsive(sample.health == Health::ok));
    } else {
      owner_.clear_condition("engine_unresponsive");
    }
  }
}

}  // namespace k3d::lifecycle
