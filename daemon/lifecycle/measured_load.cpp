// Effects, the part that keeps what a load measured: how fast it was, what memory it took, where a fit put everything.
#include "daemon/base/log.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/known_conditions.hpp"
#include "daemon/lifecycle/measured_memory.hpp"
#include "daemon/lifecycle/supervisor.hpp"

namespace k3d::lifecycle {

/// For the next one's time: from the container's start until the engine is well.
void Effects::remember_rate(const Engine& engine) {
  const Launch& launch = engine.launch;
  if (engine.adopted || launch.load_rate_key.empty() || launch.weight_bytes == 0) return;
  const std::chrono::duration<double> took = std::chrono::system_clock::now() - engine.started_at;
  if (took.count() <= 0) return;
  const double rate = static_cast<double>(launch.weight_bytes) / took.count();
  owner_.ports_.journal.put(launch.load_rate_key, std::to_string(rate));
}

/// Beside the plan, in the status; for the next plan of the same inputs, in the state.
void Effects::show_measured(const Engine& engine, const engine::LogSigns& signs) {
  const MeasuredMemory measured = measured_of(signs);
  const Launch& launch = engine.launch;
  owner_.set_measured(launch.attempt, measured);
  if (!launch.measured_key.empty()) owner_.ports_.journal.put(launch.measured_key, to_text(measured));
  const auto apart = launch.plan == nullptr ? std::nullopt : difference(*launch.plan, measured);
  if (apart) {
    owner_.set_condition(memory_differs_from_plan(*apart));
  } else {
    owner_.clear_condition("memory_differs_from_plan");
  }
}

/// Once the engine answers: a placement that fails the first completion is not worth repeating.
Task<void> Effects::remember_placement(Engine engine, engine::FitOutcome placed) {
  const Launch launch = engine.launch;
  if (launch.pinned_key.empty() || launch.plan == nullptr) co_return;
  while (owner_.phase_ == Phase::loading || owner_.phase_ == Phase::probing) {
    co_await owner_.changes_.wait(SteadyTime::max());
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
  }
  if (owner_.phase_ != Phase::ready) co_return;
  owner_.ports_.journal.put(launch.pinned_key, to_text(PinnedPlacement{std::move(placed), launch.plan->batch, launch.plan->ubatch}));
  log::info("the placement of this load is remembered", {{"profile", launch.profile}, {"attempt", launch.attempt}});
}

}  // namespace k3d::lifecycle
