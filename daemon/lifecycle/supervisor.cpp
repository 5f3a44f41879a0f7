#include "daemon/lifecycle/supervisor.hpp"

#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/secret.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/step.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr seconds kFigureInterval{1};
constexpr seconds kStopLimit{60};

/// The failure an event brings, if it brings one.
const Failure* failure_of(const Event& event) {
  if (const auto* e = std::get_if<event::PrepareFailed>(&event)) return &e->failure;
  if (const auto* e = std::get_if<event::StartFailed>(&event)) return &e->failure;
  if (const auto* e = std::get_if<event::StopFailed>(&event)) return &e->failure;
  if (const auto* e = std::get_if<event::GaveUp>(&event)) return &e->failure;
  if (const auto* e = std::get_if<event::Exited>(&event)) return &e->failure;
  return nullptr;
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
  return view;
}

/// Nothing runs, and nothing is being started that would.
bool at_rest(const InstanceState& state) {
  const bool settled = std::holds_alternative<state::Stopped>(state) || std::holds_alternative<state::Failed>(state);
  return settled && running_engine(state) == nullptr;
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
  effects_->watch_docker();
}

Task<void> Supervisor::restore() {
  const auto remembered = co_await ports_.journal.load_operations(static_cast<int>(operations::Registry::kKept));
  if (remembered) registry_.restore(*remembered, system_clock::now());
  publish();
  co_await effects_->reconcile();
}

Task<void> Supervisor::feed_figures() {
  while (co_await sleep_for(kFigureInterval)) {
    const ProxyView seen = ports_.traffic.view();
    const ProxyView& shown = snapshot()->proxy;
    if (seen.in_flight != shown.in_flight || seen.queued != shown.queued || seen.listen != shown.listen) {
      publish_figures();
    }
  }
}

Task<void> Supervisor::finish(bool stop_engine) {
  finishing_ = true;
  if (stop_engine && !at_rest(state_)) {
    apply(event::Deactivate{{}, true});
    const SteadyTime deadline = steady_clock::now() + kStopLimit;
    while (!at_rest(state_) && steady_clock::now() < deadline) co_await changes_.wait(deadline);
  }
  effects_->cancel();
  tasks_.cancel();
  co_await effects_->join();
  co_await tasks_.join();
  co_await ports_.journal.flush();
}

Result<Asked> Supervisor::activate(ActivateAsk ask) {
  if (finishing_) return fail(Code::shutting_down, "k3d is stopping");
  if (settings_->find_profile(ask.profile) == nullptr) {
    std::string names;
    for (const Profile& profile : settings_->profiles) names += (names.empty() ? "" : ", ") + profile.name;
    return fail(Code::unknown_profile, "there is no profile \"" + ask.profile + "\"",
                names.empty() ? "no profile is configured" : "the profiles are: " + names);
  }
  const OperationId current = operation_of(state_);
  const Operation* running = registry_.find(current);
  if (running != nullptr && running->kind == OperationKind::activate && running->profile == ask.profile && !ask.restart) {
    return Asked{*running, false};
  }
  const bool runs = std::holds_alternative<state::Ready>(state_) && active_profile(state_) == ask.profile && !ask.restart;
  const Operation made = registry_.create(OperationKind::activate, ask.profile, ask.reason, ask.asked_by, system_clock::now());
  log::info("activation asked for", {{"profile", ask.profile}, {"operation", made.id.value}, {"by", ask.asked_by}});
  Target target;
  target.profile = ask.profile;
  target.operation = made.id;
  target.force = ask.force;
  target.restart = ask.restart;
  apply(event::Activate{target});
  return Asked{*registry_.find(made.id), !runs};
}

Result<Asked> Supervisor::deactivate(DeactivateAsk ask) {
  if (finishing_) return fail(Code::shutting_down, "k3d is stopping");
  const Operation* running = registry_.find(operation_of(state_));
  if (running != nullptr && running->kind == OperationKind::deactivate && !ask.force) return Asked{*running, false};
  // Saying "stopped" before it is known what runs would leave running what is found later.
  if (const auto unknown = effects_->what_runs_is_unknown()) return fail(*unknown);
  const bool nothing = std::holds_alternative<state::Stopped>(state_);
  const Operation made =
      registry_.create(OperationKind::deactivate, active_profile(state_), ask.reason, ask.asked_by, system_clock::now());
  log::info("deactivation asked for", {{"operation", made.id.value}, {"by", ask.asked_by}});
  apply(event::Deactivate{made.id, ask.force});
  return Asked{*registry_.find(made.id), !nothing};
}

Result<Operation> Supervisor::cancel(const OperationId& id) {
  const Operation* operation = registry_.find(id);
  if (operation == nullptr) return fail(Code::not_found, "there is no operation \"" + id.value + "\"");
  if (operation->ended()) {
    return fail(Code::conflict, "the operation has ended: " + std::string(to_string(operation->state)));
  }
  if (operation->kind == OperationKind::deactivate) {
    return fail(Code::conflict, "a deactivation can't be cancelled", "activate a profile instead");
  }
  apply(event::Cancel{id});
  return *registry_.find(id);
}

Result<Overrides> Supervisor::override_settings(OverridesAsk ask) {
  if (finishing_) return fail(Code::shutting_down, "k3d is stopping");
  const Profile* profile = settings_->find_profile(ask.profile);
  if (profile == nullptr) return fail(Code::unknown_profile, "there is no profile \"" + ask.profile + "\"");
  if (const auto changed = ports_.overridden(*profile, ask.set); !changed) return fail(changed.error());
  if (ask.set.empty()) {
    overrides_.erase(ask.profile);
  } else {
    overrides_[ask.profile] = ask.set;
  }
  ports_.journal.save_overrides(ask.profile, ask.set);
  publish();
  return ask.set;
}

Task<Result<std::vector<AuditEntry>>> Supervisor::audit(int limit, std::uint64_t before) {
  return ports_.journal.load_audit(limit, before);
}

Task<Result<Launch>> Supervisor::dry_run(std::string profile) { return effects_->plan(std::move(profile), 0); }

std::string Supervisor::create_body(const Launch& launch) const { return ports_.containers.create_body(launch.container); }

std::filesystem::path Supervisor::log_file(std::uint64_t attempt) const {
  const std::vector<std::uint64_t> kept = kept_attempts(settings_->state);
  if (kept.empty()) return {};
  if (attempt == 0) attempt = kept.front();
  if (std::find(kept.begin(), kept.end(), attempt) == kept.end()) return {};
  return attempt_folder(settings_->state, attempt) / "engine.log";
}

std::vector<std::string> Supervisor::log_tail(std::uint64_t attempt, std::size_t lines) const {
  return lifecycle::log_tail(log_file(attempt), lines);
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

void Supervisor::apply(const Event& event) {
  Facts facts;
  std::string of = target_profile(state_);
  if (const auto* e = std::get_if<event::Activate>(&event)) of = e->target.profile;
  if (const Profile* profile = settings_->find_profile(of)) facts.roll_back = profile->on_failure == OnFailure::rollback;
  Step next = step(state_, event, facts);
  if (!next.ignored.empty()) {
    log::debug("event ignored", {{"why", next.ignored}, {"phase", to_string(phase_)}});
    return;
  }
  note(event);
  state_ = std::move(next.state);
  if (phase_of(state_) != phase_) {
    phase_ = phase_of(state_);
    phase_since_ = system_clock::now();
    if (phase_ != Phase::loading && phase_ != Phase::probing) load_ = LoadView{};
    log::info("phase", {{"phase", to_string(phase_)}, {"target", target_profile(state_)}});
    ports_.notifier.status(std::string(to_string(phase_)) + " " + target_profile(state_));
  }
  if (admits(state_) != admitting_) {
    admitting_ = admits(state_);
    ++generation_;
  }
  // Published before the effects run: a drain may rely on every loop being able to see that admission is closed.
  for (const Effect& effect : next.effects) perform(effect);
  publish();
  for (const Effect& effect : next.effects) effects_->perform(effect);
}

void Supervisor::note(const Event& event) {
  if (const Failure* failure = failure_of(event)) {
    last_failure_ = *failure;
    if (last_failure_->at == WallTime{}) last_failure_->at = system_clock::now();
    last_failure_->operation_id = operation_of(state_).value;
    log::error("engine failure", {{"code", failure->code}, {"profile", failure->profile}, {"detail", failure->detail}});
  }
  const auto* ready = std::get_if<event::ProbeOk>(&event);
  if (ready != nullptr && last_failure_ && last_failure_->profile == target_profile(state_)) last_failure_.reset();
}

void Supervisor::perform(const Effect& effect) {
  const WallTime now = system_clock::now();
  if (const auto* e = std::get_if<effect::OperationStep>(&effect)) registry_.step(e->operation, e->step, now);
  if (const auto* e = std::get_if<effect::OperationEnd>(&effect)) end_operation(*e);
  if (const auto* e = std::get_if<effect::Persist>(&effect)) ports_.journal.save_desired(e->profile);
}

void Supervisor::end_operation(const effect::OperationEnd& end) {
  registry_.end(end.operation, end.state, end.error, end.rolled_back_to, system_clock::now());
  log::info("operation ended", {{"operation", end.operation.value},
                                {"state", to_string(end.state)},
                                {"error", end.error ? end.error->code : std::string("none")}});
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

void Supervisor::publish_figures() {
  if (steady_clock::now() - published_at_ >= kFigureInterval) publish();
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
    next->engine->spec_matches = !conditions_.has("config_drift");
    if (admitting_) next->route = Route{engine->launch.profile, engine->launch.address};
  }
  next->load = load_;
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
