// Effects, the part that looks at what is around the engine: Docker itself, the containers of this instance, the
// configuration. Docker is asked again and again: nothing here relies on being told.
#include <algorithm>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/lifecycle/backoff.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/known_conditions.hpp"
#include "daemon/lifecycle/step.hpp"
#include "daemon/lifecycle/supervisor.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::system_clock;

constexpr milliseconds kFirstRetry{1000}, kLastRetry{30'000};
/// An engine that ended so close to an absence of Docker was ended by its restart.
constexpr seconds kRestartWindow{60};
/// A process may be gone for a moment before Docker says so.
constexpr int kSightingsOfGhost = 2;

std::string label_of(const Settings& settings) { return "k3d.instance=" + settings.instance; }

Engine engine_of(const ContainerInfo& container, Launch launch) {
  log::redact(launch.address.api_key);
  Engine engine;
  engine.container = container.id;
  engine.launch = std::move(launch);
  engine.launch.container.name = container.name;
  engine.pid = container.pid;
  engine.started_at = container.started_at.value_or(system_clock::now());
  engine.adopted = true;
  return engine;
}

}  // namespace

// ---- at the start ---------------------------------------------------------------------------------------------------

Task<HostFacts> Effects::host_facts() {
  auto ask = [&host = owner_.ports_.host] { return host.facts(); };
  HostFacts facts = co_await offload(files_, std::move(ask));
  if (facts.numa_balancing) {
    owner_.set_condition(numa_balancing_on());
  } else {
    owner_.clear_condition("numa_balancing_on");
  }
  co_return facts;
}

Task<Found> Effects::reconcile(bool served) {
  const std::string label = label_of(*owner_.settings_);
  milliseconds pause = kFirstRetry;
  auto found = co_await owner_.ports_.containers.list(label);
  while (!found) {
    docker_failed(found.error());
    unreconciled_ = found.error();
    reconciling_.notify();
    if (!co_await sleep_for(pause)) co_return Found{};
    pause = std::min(pause * 2, kLastRetry);
    found = co_await owner_.ports_.containers.list(label);
  }
  unreconciled_.reset();
  Found sorted = co_await sort_out(std::move(*found), served);
  const auto helps = co_await owner_.ports_.containers.list("k3d.help=" + owner_.settings_->instance);
  if (helps) {
    for (const ContainerInfo& container : *helps) co_await remove_leftover(container);
  }
  co_return sorted;
}

void Effects::begin_work() {
  reconciled_ = true;
  reconciling_.notify();
  compare_again();
}

std::optional<Error> Effects::what_runs_is_unknown() const {
  if (reconciled_ || unreconciled_) return unreconciled_;
  return Error{Code::docker_unresponsive, "Docker has not told yet what runs", "try again in a moment", {}};
}

Task<void> Effects::first_look(SteadyTime deadline) {
  while (!reconciled_ && !unreconciled_ && std::chrono::steady_clock::now() < deadline) {
    co_await reconciling_.wait(deadline);
  }
}

/// Once what ran before is known. Docker's error if it can't be known now.
Task<Status> Effects::reconciled() {
  while (!reconciled_) {
    if (unreconciled_) co_return fail(*unreconciled_);
    co_await reconciling_.wait(SteadyTime::max());
  }
  co_return Status{};
}

/// Of several that run the one that serves stays, else the oldest.
Task<std::optional<std::size_t>> Effects::choose(std::vector<ContainerInfo> found) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].running() && launch_from_labels(found[i].labels)) candidates.push_back(i);
  }
  if (candidates.empty()) co_return std::nullopt;
  for (std::size_t at = 0; candidates.size() > 1 && at < candidates.size(); ++at) {
    const Result<Launch> launch = launch_from_labels(found[candidates[at]].labels);
    const Result<Health> health = co_await owner_.ports_.engines.health(launch->address);
    if (health && *health == Health::ok) co_return candidates[at];
  }
  co_return candidates.front();
}

Task<Found> Effects::sort_out(std::vector<ContainerInfo> found, bool served) {
  std::sort(found.begin(), found.end(),
            [](const ContainerInfo& a, const ContainerInfo& b) { return a.started_at < b.started_at; });
  Found out;
  const std::optional<std::size_t> stays = co_await choose(found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Result<Launch> launch = launch_from_labels(found[i].labels);
    if (stays == i) {
      log::info("adopting a running engine", {{"name", found[i].name}, {"profile", launch->profile}});
      out.runs = engine_of(found[i], *launch);
      continue;
    }
    const bool ended = launch && !found[i].running() && found[i].started_at;
    if (ended) {
      Failure failure = co_await judge(*launch, found[i], served);
      out.ended = Found::Ended{launch->profile, std::move(failure)};
    }
    co_await remove_leftover(found[i]);
  }
  co_return out;
}

Task<void> Effects::remove_leftover(ContainerInfo container) {
  log::warning("removing a container of this instance", {{"name", container.name}, {"running", container.running()}});
  const Status stopped = container.running() ? co_await stop_container(container.id) : Status{};
  const Status removed = co_await owner_.ports_.containers.remove(container.id);
  if (!stopped || !removed) log::warning("a container stays behind", {{"name", container.name}});
}

// ---- while k3d runs -------------------------------------------------------------------------------------------------

/// The launch that a profile's configuration means, whatever memory there is: its hash is what counts.
Task<Result<Launch>> Effects::configured(std::string profile) {
  const Profile* found = owner_.settings_->find_profile(profile);
  if (found == nullptr) co_return fail(unknown_profile(*owner_.settings_, profile));
  co_return co_await launch_of(owner_.profile_in_force(*found));
}

/// Docker in trouble says nothing about whether the engine is what its profile would start now.
Task<bool> Effects::look_for_drift() {
  const Engine* engine = running_engine(owner_.state_);
  if (engine == nullptr) co_return false;
  const Launch runs = engine->launch;
  const Result<Launch> now = co_await configured(runs.profile);
  const Engine* still = running_engine(owner_.state_);
  if (still == nullptr || still->launch.attempt != runs.attempt) co_return false;
  if (!now && is_dockers_absence(now.error().code)) {
    co_return false;
  }
  const bool same = now && now->spec_hash == runs.spec_hash;
  if (same) {
    owner_.clear_condition("config_drift");
  } else {
    owner_.set_condition(config_drift(runs.profile));
  }
  co_return !same;
}

void Effects::compare_again() {
  tasks_.spawn([](Effects& self) -> Task<void> { co_await self.look_for_drift(); }(*this));
}

void Effects::watch_docker() { begin(docker_, docker_health()); }

void Effects::docker_failed(const Error& error) {
  if (error.code == Code::docker_unavailable) docker_away_at_ = system_clock::now();
}

bool Effects::docker_restarted(const ContainerInfo& ended) const {
  if (live_restore_) return false;
  const WallTime away = std::max(docker_away_at_, owner_.ports_.containers.away_at().value_or(WallTime{}));
  const WallTime at = ended.finished_at.value_or(system_clock::now());
  return away != WallTime{} && std::chrono::abs(at - away) <= kRestartWindow;
}

Task<void> Effects::docker_health() {
  milliseconds retry = kFirstRetry;
  for (;;) {
    const Result<DockerInfo> info = co_await owner_.ports_.containers.info();
    const std::string code = info ? std::string() : docker_trouble(info.error()).code;
    for (const char* known : {"docker_unavailable", "docker_unresponsive"}) {
      if (code != known) owner_.clear_condition(known);
    }
    if (info) {
      live_restore_ = info->live_restore;
      co_await look_around();
    } else {
      docker_failed(info.error());
      owner_.set_condition(docker_trouble(info.error()));
    }
    if (info && info->live_restore) owner_.clear_condition("live_restore_off");
    if (info && !info->live_restore) owner_.set_condition(live_restore_off());
    if (!co_await sleep_for(info ? owner_.ports_.pace.docker : retry)) co_return;
    retry = info ? kFirstRetry : std::min(retry * 2, kLastRetry);
  }
}

/// Containers that others started, renamed or left running under our labels.
Task<void> Effects::look_around() {
  if (!reconciled_) co_return;
  const auto found = co_await owner_.ports_.containers.list(label_of(*owner_.settings_));
  if (!found) co_return;
  for (const ContainerInfo& container : *found) {
    if (container.running()) co_await meet(container);
  }
}

Task<void> Effects::meet(ContainerInfo container) {
  const Engine* engine = running_engine(owner_.state_);
  if (engine != nullptr && engine->container == container.id) {
    owner_.set_container_name(container.id, container.name);
    look_for_ghost(*engine);
    co_return;
  }
  // The list may be old by now, and so may be what is known of it.
  const auto still = co_await owner_.ports_.containers.inspect(container.id);
  if (!still || !still->running()) co_return;
  engine = running_engine(owner_.state_);
  const Phase phase = owner_.phase_;
  // One of ours is coming or going: the next look tells more.
  if (phase == Phase::starting || phase == Phase::stopping) co_return;
  const Result<Launch> launch = launch_from_labels(still->labels);
  if (engine == nullptr && launch) {
    log::warning("a container of this instance runs that k3d did not start", {{"name", still->name}});
    post(event::Adopted{engine_of(*still, *launch)});
  } else if (engine != nullptr && engine->container != still->id) {
    log::error("a second container of this instance runs", {{"name", still->name}});
    co_await remove_leftover(*still);
  }
}

void Effects::look_for_ghost(const Engine& engine) {
  HostProbe& host = owner_.ports_.host;
  // Where /proc hides the processes of others nothing can be told.
  const bool gone = engine.pid > 0 && !host.is_there(engine.pid) && host.is_there(1);
  ghost_sightings_ = gone ? ghost_sightings_ + 1 : 0;
  if (ghost_sightings_ >= kSightingsOfGhost) {
    owner_.set_condition(ghost_container(engine.launch.container.name, engine.pid));
  } else {
    owner_.clear_condition("ghost_container");
  }
}

}  // namespace k3d::lifecycle
