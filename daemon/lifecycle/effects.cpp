#include "daemon/lifecycle/effects.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/failure_of.hpp"
#include "daemon/lifecycle/known_conditions.hpp"
#include "daemon/lifecycle/step.hpp"
#include "daemon/lifecycle/supervisor.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::system_clock;

/// SIGTERM, 3 s, SIGTERM, 2 s, SIGKILL: a second SIGTERM ends llama-server at once, with exit code 1.
struct StopStage {
  const char* signal;
  seconds patience;
};
constexpr StopStage kStopStages[]{{"SIGTERM", seconds(3)}, {"SIGTERM", seconds(2)}, {"SIGKILL", seconds(30)}};

constexpr std::size_t kKeptAttempts = 5;
constexpr milliseconds kDockerPause{500};
constexpr milliseconds kFirstRetry{1000}, kLastRetry{30'000}, kDockerInterval{5000};

}  // namespace

Effects::Effects(Supervisor& owner)
    : owner_(owner),
      planner_(owner.ports_.containers, owner.ports_.host, owner.ports_.journal, owner.settings_, files_),
      tasks_(owner.loop_) {}

Effects::~Effects() = default;

void Effects::post(Event event) {
  asio::post(owner_.loop_, [this, event = std::move(event)] { owner_.apply(event); });
}

void Effects::begin(std::unique_ptr<TaskGroup>& slot, Task<void> task) {
  if (slot) retire(std::move(slot));
  slot = std::make_unique<TaskGroup>(owner_.loop_);
  slot->spawn(std::move(task));
}

void Effects::retire(std::unique_ptr<TaskGroup> group) {
  if (!group) return;
  group->cancel();
  // Not even the daemon's end may cut this short: a group that dies before its last task is a crash.
  tasks_.spawn([](std::unique_ptr<TaskGroup> old) -> Task<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await old->join();
  }(std::move(group)));
}

void Effects::cancel() {
  for (auto* slot : {&preparing_, &draining_, &watching_, &docker_}) {
    if (*slot) (*slot)->cancel();
  }
  tasks_.cancel();
}

Task<void> Effects::join() {
  for (auto* slot : {&preparing_, &draining_, &watching_, &docker_}) {
    if (*slot) co_await (*slot)->join();
  }
  co_await tasks_.join();
}

void Effects::perform(const Effect& effect) {
  struct Performer {
    Effects& self;
    void operator()(const effect::Prepare& e) const { self.begin(self.preparing_, self.prepare(e.target)); }
    void operator()(const effect::CancelPrepare&) const { self.retire(std::move(self.preparing_)); }
    void operator()(const effect::Drain& e) const { self.begin(self.draining_, self.drain(e.engine, e.force)); }
    void operator()(const effect::Stop& e) const { self.tasks_.spawn(self.stop(e.engine)); }
    void operator()(const effect::Start& e) const { self.begin(self.preparing_, self.start(e.launch)); }
    void operator()(const effect::Watch& e) const { self.watch(e.engine, e.loading); }
    void operator()(const effect::Probe& e) const {
      if (self.watching_) self.watching_->spawn(self.probe(e.engine));
    }
    void operator()(const effect::Discard& e) const {
      self.retire(std::move(self.watching_));
      self.tasks_.spawn(self.discard(e.engine));
    }
    // The supervisor does these itself.
    void operator()(const effect::Persist&) const {}
    void operator()(const effect::OperationStep&) const {}
    void operator()(const effect::OperationEnd&) const {}
  };
  std::visit(Performer{*this}, effect);
}

Task<Result<Launch>> Effects::plan(std::string profile, std::uint64_t attempt) {
  const Profile* found = owner_.settings_->find_profile(profile);
  if (found == nullptr) co_return fail(Code::unknown_profile, "there is no profile \"" + profile + "\"");
  co_return co_await planner_.plan(*found, attempt);
}

Task<void> Effects::prepare(Target target) {
  if (const Status known = co_await reconciled(); !known) {
    post(event::PrepareFailed{target.operation, failure_of(known.error(), target.profile, 0)});
    co_return;
  }
  const std::uint64_t attempt = co_await owner_.ports_.journal.next_attempt();
  Result<Launch> launch = co_await plan(target.profile, attempt);
  if (launch) {
    post(event::Prepared{target.operation, std::move(*launch)});
  } else {
    post(event::PrepareFailed{target.operation, failure_of(launch.error(), target.profile, attempt)});
  }
}

Task<void> Effects::drain(Engine engine, bool force) {
  const Profile* profile = owner_.settings_->find_profile(engine.launch.profile);
  const seconds limit = force ? seconds(0) : profile != nullptr ? profile->drain : seconds(900);
  const bool empty = co_await owner_.ports_.traffic.drain(owner_.generation_, limit);
  if (!empty) log::info("the drain ran out of time; what is left is cut", {{"limit_seconds", limit.count()}});
  post(event::Drained{engine.launch.attempt});
}

// ---- stopping -------------------------------------------------------------------------------------------------------

Task<void> Effects::stop(Engine engine) {
  // llama-server hangs in its shutdown as long as any client is connected, waiting ones too: cut them first.
  co_await owner_.ports_.traffic.cut(owner_.generation_);
  const Status stopped = co_await stop_container(engine.container);
  if (!stopped) {  // it is watched on: its end may still come
    post(event::StopFailed{engine.launch.attempt,
                           failure_of(stopped.error(), engine.launch.profile, engine.launch.attempt)});
    co_return;
  }
  retire(std::move(watching_));
  co_await discard(engine);
  post(event::EngineStopped{engine.launch.attempt});
}

Task<Status> Effects::stop_container(ContainerId container) {
  for (const StopStage& stage : kStopStages) {
    const Status sent = co_await owner_.ports_.containers.kill(container, stage.signal);
    if (!sent && (sent.error().code == Code::conflict || sent.error().code == Code::not_found)) co_return Status{};
    if (!sent) log::warning("a signal could not be sent", {{"signal", stage.signal}, {"cause", sent.error().text()}});
    if (co_await ends_within(container, stage.patience)) co_return Status{};
  }
  co_return fail(Code::docker_unresponsive, "the engine's container could not be stopped",
                 "look at `docker ps` and `docker logs " + container.value.substr(0, 12) + "`, then deactivate again");
}

Task<bool> Effects::ends_within(ContainerId container, seconds patience) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) co_return false;
    auto wait = owner_.ports_.containers.wait(container);
    const auto ended = co_await with_deadline<ContainerInfo>(std::move(wait), left, "the engine's end");
    if (ended || ended.error().code == Code::not_found) co_return true;
    if (ended.error().code == Code::timed_out) co_return false;
    // Docker itself is away, perhaps being restarted: the engine's time to end is not over for that.
    if (!co_await sleep_for(std::min(left, kDockerPause))) co_return false;
  }
}

Task<void> Effects::discard(Engine engine) {
  owner_.clear_condition("config_drift");
  const Status removed = co_await owner_.ports_.containers.remove(engine.container);
  if (!removed) log::warning("a container stays behind", {{"cause", removed.error().text()}});
}

// ---- starting -------------------------------------------------------------------------------------------------------

Task<void> Effects::start(Launch launch) {
  Result<Engine> engine = co_await create_and_start(launch);
  if (engine) {
    post(event::Started{std::move(*engine)});
  } else {
    post(event::StartFailed{launch.attempt, failure_of(engine.error(), launch.profile, launch.attempt)});
  }
}

Task<Result<Engine>> Effects::create_and_start(Launch launch) {
  if (Status ready = co_await prepare_files(launch); !ready) co_return fail(ready.error());
  log::redact(launch.address.api_key);
  if (launch.address.unix_path.empty() && owner_.ports_.host.port_taken(launch.address.port)) {
    co_return fail(Code::start_refused, "port " + std::to_string(launch.address.port) + " is in use already",
                   "activate again: another port is taken");
  }
  if (Status clear = co_await clear_the_way(launch.container.name); !clear) co_return fail(clear.error());
  Result<ContainerId> id = co_await create_and_run(launch.container);
  if (!id && launch.container.memlock_unlimited && owner_.ports_.containers.is_memlock_refusal(id.error())) {
    owner_.set_condition(memlock_limited());
    launch.container.memlock_unlimited = false;
    id = co_await create_and_run(launch.container);
  } else if (id) {
    owner_.clear_condition("memlock_limited");
  }
  if (!id) co_return fail(id.error());
  const Result<ContainerInfo> info = co_await owner_.ports_.containers.inspect(*id);
  Engine engine;
  engine.container = *id;
  engine.launch = std::move(launch);
  engine.pid = info ? info->pid : 0;
  engine.started_at = info && info->started_at ? *info->started_at : system_clock::now();
  co_return engine;
}

/// Syncing and removing may wait for the disk: not on the loop.
Task<Status> Effects::prepare_files(Launch launch) {
  auto work = [state = owner_.settings_->state, folder = launch.folder, key = launch.address.api_key,
               attempt = launch.attempt] {
    const Status ready = prepare_folder(folder, key);
    if (ready) prune_folders(state, kKeptAttempts, attempt);
    return ready;
  };
  co_return co_await offload(files_, std::move(work));
}

/// A container that runs, or none.
Task<Result<ContainerId>> Effects::create_and_run(LaunchSpec spec) {
  Containers& containers = owner_.ports_.containers;
  const Result<ContainerId> id = co_await containers.create(std::move(spec));
  if (!id) co_return fail(id.error());
  const Status started = co_await containers.start(*id);
  if (started) co_return *id;
  const Status removed = co_await containers.remove(*id);
  if (!removed) log::warning("a container stays behind", {{"cause", removed.error().text()}});
  co_return fail(started.error());
}

Task<Status> Effects::clear_the_way(std::string keep) {
  const auto found = co_await owner_.ports_.containers.list("k3d.instance=" + owner_.settings_->instance);
  if (!found) co_return fail(found.error());
  for (const ContainerInfo& container : *found) {
    if (container.name == keep) continue;
    if (container.running()) {
      co_return fail(Code::conflict, "the container " + container.name + " of this instance runs already",
                     "stop it with `docker stop " + container.name + "`, or restart k3d, which adopts it");
    }
    const Status removed = co_await owner_.ports_.containers.remove(container.id);
    if (!removed) co_return fail(removed.error());
  }
  co_return Status{};
}

// ---- finding what runs ----------------------------------------------------------------------------------------------

Task<void> Effects::reconcile() {
  const std::string label = "k3d.instance=" + owner_.settings_->instance;
  milliseconds pause = kFirstRetry;
  auto found = co_await owner_.ports_.containers.list(label);
  while (!found) {
    unreconciled_ = found.error();
    reconciling_.notify();
    if (!co_await sleep_for(pause)) co_return;
    pause = std::min(pause * 2, kLastRetry);
    found = co_await owner_.ports_.containers.list(label);
  }
  unreconciled_.reset();
  const std::optional<Launch> adopted = co_await sort_out(std::move(*found));
  const auto helps = co_await owner_.ports_.containers.list("k3d.help=" + owner_.settings_->instance);
  if (helps) {
    for (const ContainerInfo& container : *helps) co_await remove_leftover(container);
  }
  reconciled_ = true;
  reconciling_.notify();
  if (adopted) co_await look_for_drift(*adopted);
}

/// Once what ran before is known. Docker's error if it can't be known now.
Task<Status> Effects::reconciled() {
  while (!reconciled_) {
    if (unreconciled_) co_return fail(*unreconciled_);
    co_await reconciling_.wait(SteadyTime::max());
  }
  co_return Status{};
}

/// The launch of the container that was adopted, if one was.
Task<std::optional<Launch>> Effects::sort_out(std::vector<ContainerInfo> found) {
  std::sort(found.begin(), found.end(),
            [](const ContainerInfo& a, const ContainerInfo& b) { return a.started_at < b.started_at; });
  std::optional<Launch> adopted;
  for (const ContainerInfo& container : found) {
    const Result<Launch> launch = launch_from_labels(container.labels);
    if (!container.running() || adopted || !launch) {
      co_await remove_leftover(container);
    } else {
      adopted = *launch;
      adopt(container, *launch);
    }
  }
  co_return adopted;
}

Task<void> Effects::remove_leftover(ContainerInfo container) {
  log::warning("removing a container of this instance", {{"name", container.name}, {"running", container.running()}});
  const Status stopped = container.running() ? co_await stop_container(container.id) : Status{};
  const Status removed = co_await owner_.ports_.containers.remove(container.id);
  if (!stopped || !removed) log::warning("a container stays behind", {{"name", container.name}});
}

/// At once: requests must flow before anything is compared with what the configuration says now.
void Effects::adopt(const ContainerInfo& container, Launch launch) {
  log::redact(launch.address.api_key);
  Engine engine;
  engine.container = container.id;
  engine.launch = std::move(launch);
  engine.launch.container.name = container.name;
  engine.pid = container.pid;
  engine.started_at = container.started_at.value_or(system_clock::now());
  engine.adopted = true;
  log::info("adopting a running engine", {{"name", container.name}, {"profile", engine.launch.profile}});
  post(event::Adopted{std::move(engine)});
}

/// Whether the adopted engine is what its profile would start now. Docker in trouble says nothing about that.
Task<void> Effects::look_for_drift(Launch adopted) {
  const Result<Launch> now = co_await plan(adopted.profile, 0);
  const bool unknown = !now && (now.error().code == Code::docker_unavailable || now.error().code == Code::docker_unresponsive);
  const Engine* runs = running_engine(owner_.state_);
  if (unknown || runs == nullptr || runs->launch.attempt != adopted.attempt) co_return;
  if (!now || now->spec_hash != adopted.spec_hash) owner_.set_condition(config_drift(adopted.profile));
}

void Effects::watch_docker() { begin(docker_, docker_health()); }

Task<void> Effects::docker_health() {
  milliseconds retry = kFirstRetry;
  for (;;) {
    const Result<DockerInfo> info = co_await owner_.ports_.containers.info();
    const std::string code = info ? std::string() : docker_trouble(info.error()).code;
    for (const char* known : {"docker_unavailable", "docker_unresponsive"}) {
      if (code != known) owner_.clear_condition(known);
    }
    if (!info) {
      owner_.set_condition(docker_trouble(info.error()));
    } else if (info->live_restore) {
      owner_.clear_condition("live_restore_off");
    } else {
      owner_.set_condition(live_restore_off());
    }
    if (!co_await sleep_for(info ? kDockerInterval : retry)) co_return;
    retry = info ? kFirstRetry : std::min(retry * 2, kLastRetry);
  }
}

}  // namespace k3d::lifecycle
