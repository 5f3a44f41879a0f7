#include "daemon/lifecycle/supervisor.hpp"

#include <boost/asio/post.hpp>

#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/secret.hpp"
#include "daemon/engine/remedies.hpp"
#include "daemon/lifecycle/backoff.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/planned_profile.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr seconds kStopLimit{60};
constexpr int kMostRemedies = 2;

/// The failure an event brings, if it brings one.
template <class AnyEvent>
auto* failure_of(AnyEvent& event) {
  using Found = std::conditional_t<std::is_const_v<AnyEvent>, const Failure, Failure>;
  return std::visit(
      [](auto& e) -> Found* {
        if constexpr (requires { e.failure; }) return &e.failure;
        return nullptr;
      },
      event);
}

EngineView view_of(const Engine& engine) {
  EngineView view;
  view.container_id = engine.container;
  view.container_name = engine.launch.container.name;
  view.attempt = engine.launch.attempt;
  view.image = engine.launch.container.image;
  view.argv = engine.launch.argv;
  view.started_at = engine.started_at;
  view.ready_at = engine.ready_at;
  view.adopted = engine.adopted;
  view.planned = engine.launch.plan;
  return view;
}

/// Nothing runs, and nothing is being started that would.
bool at_rest(const InstanceState& state) {
  const bool settled = std::holds_alternative<state::Stopped>(state) || std::holds_alternative<state::Failed>(state) ||
                       std::holds_alternative<state::Held>(state);
  return settled && running_engine(state) == nullptr;
}

/// For the service manager: "ready batch", "backoff batch: cuda_out_of_memory, try 2 of 5".
std::string status_line(const InstanceState& state, Phase phase) {
  std::string line = std::string(to_string(phase)) + " " + target_profile(state);
  if (const auto* s = std::get_if<state::Failed>(&state)) line += ": " + s->failure.code;
  if (const auto* s = std::get_if<state::Backoff>(&state)) {
    line += ": " + s->failure.code + ", failure " + std::to_string(s->attempt);
    if (s->limit > 0) line += " of " + std::to_string(s->limit);
  }
  return line;
}

/// Whether requests are sent to the engine that runs: not while it is drained, stopped or started.
bool admits(const InstanceState& state) {
  if (std::holds_alternative<state::Ready>(state)) return true;
  const auto* preparing = std::get_if<state::Preparing>(&state);
  return preparing != nullptr && preparing->serving.has_value();
}

}  // namespace

Supervisor::Supervisor(Executor loop, Ports ports, std::shared_ptr<const Settings> settings, std::string version,
                       std::function<std::string(const Snapshot&)> serialise)
    : loop_(loop),
      ports_(ports),
      settings_(std::move(settings)),
      version_(std::move(version)),
      serialise_(std::move(serialise)),
      registry_([this](const Operation& operation) { ports_.journal.save(operation); }),
      phase_since_(system_clock::now()),
      boot_(random_hex(4)),
      tasks_(loop),
      effects_(std::make_unique<Effects>(*this)) {
  ports_.journal.on_outcome([this](const std::optional<Error>& error) { store_outcome(error); });
  publish();
}

Supervisor::~Supervisor() = default;

void Supervisor::start() {
  tasks_.spawn(restore());
  tasks_.spawn(feed_figures());
  tasks_.spawn(feed_gpus());
  effects_->watch_docker();
}

Task<void> Supervisor::finish(bool stop_engine) {
  finishing_ = true;
  if (stop_engine && !at_rest(state_)) {
    // What was meant to run is still remembered: `boot: last` starts it again.
    ports_.journal.put("stopped_on_exit", "yes");
    apply(event::Deactivate{{}, true});
    const SteadyTime deadline = steady_clock::now() + kStopLimit;
    while (!at_rest(state_) && steady_clock::now() < deadline) co_await changes_.wait(deadline);
  }
  closed_ = true;  // what still comes in changes nothing and starts nothing
  effects_->cancel();
  tasks_.cancel();
  co_await tasks_.join();
  co_await effects_->join();
  co_await ports_.journal.flush();
}

Task<SnapshotPtr> Supervisor::changed(std::string since, SteadyTime deadline) {
  while (snapshot()->revision == since && steady_clock::now() < deadline) co_await changes_.wait(deadline);
  co_return snapshot();
}

void Supervisor::set_condition(Condition condition) {
  if (condition.since == WallTime{}) condition.since = system_clock::now();
  const std::string code = condition.code;
  const std::string detail = condition.detail;
  if (!conditions_.set(std::move(condition))) return;
  log::warning("condition", {{"code", code}, {"detail", detail}});
  publish();
}

void Supervisor::clear_condition(const std::string& code) {
  if (!conditions_.clear(code)) return;
  log::info("condition gone", {{"code", code}});
  publish();
}

void Supervisor::store_outcome(const std::optional<Error>& error) {
  if (!error) {
    clear_condition("state_not_persisted");
    clear_condition("disk_full");
    return;
  }
  const bool full = error->code == Code::disk_full;
  Condition condition;
  condition.code = full ? "disk_full" : "state_not_persisted";
  condition.severity = Severity::error;
  condition.title = full ? "The disk under the state is full" : "The state can't be written";
  condition.detail = error->text();
  condition.advice = error->hint;
  set_condition(std::move(condition));
}

// ---- the one way state changes --------------------------------------------------------------------------------------

Facts Supervisor::facts_for(const Event& event) const {
  Facts facts;
  facts.now = system_clock::now();
  const auto* stopping = std::get_if<state::Stopping>(&state_);
  if (std::holds_alternative<state::Ready>(state_) || (stopping != nullptr && stopping->served)) {
    facts.served_for = std::chrono::duration_cast<seconds>(steady_clock::now() - ready_since_);
  }
  std::string of = target_profile(state_);
  if (const auto* e = std::get_if<event::Activate>(&event)) of = e->target.profile;
  if (const Profile* profile = settings_->find_profile(of)) facts.roll_back = profile->on_failure == OnFailure::rollback;
  return facts;
}

void Supervisor::apply(Event event) {
  if (closed_) return;
  Step next = step(state_, event, facts_for(event));
  if (!next.ignored.empty()) {
    log::debug("event ignored", {{"why", next.ignored}, {"phase", to_string(phase_)}});
    return;
  }
  if (heal(event)) next = step(state_, event, facts_for(event));
  note(event);
  state_ = std::move(next.state);
  enter_phase();
  remember_failure(event);
  if (admits(state_) != admitting_) {
    admitting_ = admits(state_);
    ++generation_;
  }
  // Published before the effects run: a drain may rely on every loop being able to see that admission is closed.
  for (const Effect& effect : next.effects) perform(effect);
  publish();
  for (const Effect& effect : next.effects) effects_->perform(effect);
}

void Supervisor::enter_phase() {
  const Phase before = phase_;
  phase_ = phase_of(state_);
  if (phase_ == before) return;
  phase_since_ = system_clock::now();
  if (phase_ == Phase::ready && before != Phase::preparing && before != Phase::draining) {
    ready_since_ = steady_clock::now();
  }
  if (phase_ != Phase::loading && phase_ != Phase::probing) load_ = LoadView{};
  log::info("phase", {{"phase", to_string(phase_)}, {"target", target_profile(state_)}});
  ports_.notifier.status(status_line(state_, phase_));
}

/// Until a start of its profile succeeds: a daemon that starts later shows it again, and knows whether another try was
/// due; requests don't begin a switch to that profile.
void Supervisor::remember_failure(const Event& event) {
  if (failure_of(event) != nullptr) {
    if (!is_of_surroundings(last_failure_->code)) unfit_.insert(last_failure_->profile);
    ports_.journal.put("failure", to_text(FailureRecord{*last_failure_, phase_ == Phase::failed}));
    return;
  }
  const bool answered = std::holds_alternative<event::ProbeOk>(event) || std::holds_alternative<event::HealthOk>(event);
  if (!answered || phase_ != Phase::ready) return;
  unfit_.erase(active_profile(state_));
  if (!last_failure_ || last_failure_->profile != active_profile(state_)) return;
  last_failure_.reset();
  ports_.journal.put("failure", {});
}

/// Adds the remedy of a failure. Returns whether it has changed what can follow: with self_heal the remedy is applied,
/// at most twice, until the overrides are cleared.
bool Supervisor::heal(Event& event) {
  Failure* failure = failure_of(event);
  const Profile* configured = failure == nullptr ? nullptr : settings_->find_profile(failure->profile);
  if (configured == nullptr) return false;
  Profile profile = profile_in_force(*configured);
  // What the plan chose is what failed, and what a remedy has to change.
  const Engine* engine = running_engine(state_);
  const bool planned = engine != nullptr && engine->launch.profile == profile.name && engine->launch.plan != nullptr;
  if (planned) profile = with_plan(std::move(profile), *engine->launch.plan);
  failure->remedy = engine::remedy_for(failure->code, profile);
  const auto* missing = std::get_if<event::Missing>(&event);
  if (missing == nullptr || !missing->final) apply_remedy(*configured, *failure);
  return true;
}

void Supervisor::apply_remedy(const Profile& configured, Failure& failure) {
  const bool memory = failure.code == "cuda_out_of_memory_on_request" || failure.code == "cuda_out_of_memory";
  if (!configured.self_heal || !memory || !failure.remedy || healed_[failure.profile] >= kMostRemedies) return;
  Overrides set = overrides_[failure.profile];
  for (const auto& [key, value] : failure.remedy->set) set[key] = value;
  const auto applied = override_settings({failure.profile, std::move(set), "self_heal: " + failure.code, "k3d"});
  if (!applied) return;
  failure.retryable = true;
  failure.remedied = true;
  const int count = ++healed_[failure.profile];
  ports_.journal.put("healed/" + failure.profile, std::to_string(count));
  log::warning("self_heal: a remedy is applied", {{"profile", failure.profile}, {"failure", failure.code}, {"time", count}});
}

void Supervisor::note(const Event& event) {
  const Failure* failure = failure_of(event);
  if (failure == nullptr) return;
  last_failure_ = *failure;
  if (last_failure_->at == WallTime{}) last_failure_->at = system_clock::now();
  last_failure_->operation_id = operation_of(state_).value;
  log::error("engine failure", {{"code", failure->code}, {"profile", failure->profile}, {"detail", failure->detail}});
}

void Supervisor::perform(const Effect& effect) {
  const WallTime now = system_clock::now();
  if (const auto* e = std::get_if<effect::OperationStep>(&effect)) registry_.step(e->operation, e->step, now);
  if (const auto* e = std::get_if<effect::OperationEnd>(&effect)) end_operation(*e);
  if (const auto* e = std::get_if<effect::Persist>(&effect); e != nullptr && !finishing_) {
    ports_.journal.save_desired(e->profile);
    ports_.journal.put("fall_back_to", e->fall_back_to);
    ports_.journal.put("rolled_back_from", e->rolled_back_from);
  }
  if (const auto* e = std::get_if<effect::Stop>(&effect)) {
    ports_.journal.put("stopping", std::to_string(e->engine.launch.attempt));
  }
  // Not at once: whoever holds the GPUs may give them back before it returns.
  if (std::holds_alternative<effect::Preempt>(effect) && give_way_) asio::post(loop_, give_way_);
}

void Supervisor::end_operation(const effect::OperationEnd& end) {
  registry_.end(end.operation, end.state, end.error, end.rolled_back_to, system_clock::now());
  log::info("operation ended", {{"operation", end.operation.value},
                                {"state", to_string(end.state)},
                                {"error", end.error ? end.error->code : std::string("none")}});
}

void Supervisor::set_container_name(const ContainerId& id, const std::string& name) {
  if (named_ == id && container_name_ == name) return;
  named_ = id;
  container_name_ = name;
  publish();
}

void Supervisor::set_load(const LoadView& load) {
  load_ = load;
  Progress progress;
  progress.step = "load";
  progress.fraction = load.fraction;
  progress.done_bytes = load.done_bytes;
  progress.total_bytes = load.total_bytes;
  progress.eta_seconds = load.eta_seconds;
  registry_.progress(operation_of(state_), progress);
  publish_figures();
}

void Supervisor::set_measured(std::uint64_t attempt, MeasuredMemory measured) {
  measured_attempt_ = attempt;
  measured_ = std::move(measured);
  publish();
}

void Supervisor::publish() {
  published_at_ = steady_clock::now();
  auto next = std::make_shared<Snapshot>();
  next->number = ++revision_;
  next->revision = boot_ + "-" + std::to_string(revision_);
  next->generation = generation_;
  next->version = version_;
  next->instance = settings_->instance;
  next->phase = phase_;
  next->phase_since = phase_since_;
  next->active_profile = active_profile(state_);
  next->target_profile = target_profile(state_);
  if (const Engine* engine = running_engine(state_)) {
    next->engine = view_of(*engine);
    if (engine->container == named_) next->engine->container_name = container_name_;
    next->engine->restarts = strikes_of(state_).restarts;
    if (engine->launch.attempt == measured_attempt_) next->engine->measured = measured_;
    next->engine->spec_matches = !conditions_.has("config_drift");
    if (admitting_) next->route = Route{engine->launch.profile, engine->launch.address};
  }
  next->load = load_;
  if (const auto* held = std::get_if<state::Held>(&state_)) next->held_by = held->holder.value;
  if (const auto* wait = std::get_if<state::Backoff>(&state_)) {
    next->backoff = BackoffView{wait->attempt, wait->limit, wait->retry_at};
  }
  next->gpus = gpus_;
  next->last_failure = last_failure_;
  next->conditions = conditions_.list();
  next->proxy = ports_.traffic.view();
  next->overrides = overrides_;
  next->operations = registry_.list();
  next->settings = settings_;
  next->status_json = serialise_(*next);
  ports_.board.publish(std::move(next));
  changes_.notify();
}

}  // namespace k3d::lifecycle
