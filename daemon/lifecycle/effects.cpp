#include "daemon/lifecycle/effects.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/failure_of.hpp"
#include "daemon/lifecycle/known_conditions.hpp"
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

}  // namespace

Effects::Effects(Supervisor& owner)
    : owner_(owner),
      planner_(owner.ports_.containers, owner.ports_.host, owner.ports_.journal, owner.settings_),
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
  tasks_.spawn([](std::unique_ptr<TaskGroup> old) -> Task<void> { co_await old->join(); }(std::move(group)));
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
    void operator()(const effect::Watch& e) const { self.begin(self.watching_, self.watch(e.engine, e.loading)); }
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
  retire(std::move(watching_));
  if (!stopped) {
    post(event::StopFailed{engine.launch.attempt,
                           failure_of(stopped.error(), engine.launch.profile, engine.launch.attempt)});
    co_return;
  }
  co_await discard(engine);
  post(event::EngineStopped{engine.launch.attempt});
}

Task<Status> Effects::stop_container(ContainerId container) {
  for (const StopStage& stage : kStopStages) {
    const Status sent = co_await owner_.ports_.containers.kill(container, stage.signal);
    if (!sent && (sent.error().code == Code::conflict || sent.error().code == Code::not_found)) co_return Status{};
    if (!sent) log::warning("a signal could not be sent", {{"signal", stage.signal}, {"cause", sent.error().text()}});
    auto wait = owner_.ports_.containers.wait(container);
    const auto ended = co_await with_deadline<ContainerInfo>(std::move(wait), stage.patience, "the engine's end");
    if (ended || ended.error().code == Code::not_found) co_return Status{};
  }
  co_return fail(Code::docker_unresponsive, "the engine's container could not be stopped",
                 "look at `docker ps` and `docker logs " + container.value.substr(0, 12) + "`, then deactivate again");
}

Task<void> Effects::discard(Engine engine) {
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
  if (Status ready = prepare_folder(launch.folder, launch.address.api_key); !ready) co_return fail(ready.error());
  prune_folders(owner_.settings_->state, kKeptAttempts, launch.attempt);
  if (launch.address.unix_path.empty() && owner_.ports_.host.port_taken(launch.address.port)) {
    co_return fail(Code::start_refused, "port " + std::to_string(launch.address.port) + " is in use already",
                   "activate again: another port is taken");
  }
  if (Status clear = co_await clear_the_way(launch.container.name); !clear) co_return fail(clear.error());
  Containers& containers = owner_.ports_.containers;
  Result<ContainerId> id = co_await containers.create(launch.container);
  if (!id) co_return fail(id.error());
  Status started = co_await containers.start(*id);
  if (!started && launch.container.memlock_unlimited && containers.is_memlock_refusal(started.error())) {
    owner_.set_condition(memlock_limited());
    if (Status removed = co_await containers.remove(*id); !removed) co_return fail(removed.error());
    launch.container.memlock_unlimited = false;
    id = co_await containers.create(launch.container);
    if (!id) co_return fail(id.error());
    started = co_await containers.start(*id);
  } else if (started) {
    owner_.clear_condition("memlock_limited");
  }
  if (!started) {
    const Status removed = co_await containers.remove(*id);
    if (!removed) log::warning("a container stays behind", {{"cause", removed.error().text()}});
    co_return fail(started.error());
  }
  const Result<ContainerInfo> info = co_await containers.inspect(*id);
  Engine engine;
  engine.container = *id;
  engine.launch = std::move(launch);
  engine.pid = info ? info->pid : 0;
  engine.started_at = info && info->started_at ? *info->started_at : system_clock::now();
  co_return engine;
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
  milliseconds pause(1000);
  auto found = co_await owner_.ports_.containers.list(label);
  while (!found) {
    if (!co_await sleep_for(pause)) co_return;
    pause = std::min(pause * 2, milliseconds(30'000));
    found = co_await owner_.ports_.containers.list(label);
  }
  std::sort(found->begin(), found->end(),
            [](const ContainerInfo& a, const ContainerInfo& b) { return a.started_at < b.started_at; });
  bool adopted = false;
  for (const ContainerInfo& container : *found) {
    Result<Launch> launch = launch_from_labels(container.labels);
    if (!container.running() || adopted || !launch) {
      log::warning("removing a container of this instance", {{"name", container.name}, {"running", container.running()}});
      const Status stopped = container.running() ? co_await stop_container(container.id) : Status{};
      const Status removed = co_await owner_.ports_.containers.remove(container.id);
      if (!stopped || !removed) log::warning("a container stays behind", {{"name", container.name}});
      continue;
    }
    Engine engine;
    engine.container = container.id;
    engine.launch = std::move(*launch);
    engine.launch.container.name = container.name;
    engine.pid = container.pid;
    engine.started_at = container.started_at.value_or(system_clock::now());
    engine.adopted = true;
    adopted = true;
    log::info("adopting a running engine", {{"name", container.name}, {"profile", engine.launch.profile}});
    const Result<Launch> now = co_await plan(engine.launch.profile, 0);
    engine.spec_matches = now && now->spec_hash == engine.launch.spec_hash;
    if (!engine.spec_matches) owner_.set_condition(config_drift(engine.launch.profile));
    post(event::Adopted{std::move(engine)});
  }
}

void Effects::watch_docker() { begin(docker_, docker_health()); }

Task<void> Effects::docker_health() {
  milliseconds pause(1000);
  for (;;) {
    const Result<DockerInfo> info = co_await owner_.ports_.containers.info();
    const std::string code = info ? std::string() : std::string(to_string(info.error().code));
    for (const char* known : {"docker_unavailable", "docker_unresponsive"}) {
      if (code != known) owner_.clear_condition(known);
    }
    if (!info) {
      owner_.set_condition(docker_trouble(info.error()));
      pause = std::min(pause * 2, milliseconds(30'000));
    } else {
      pause = milliseconds(5000);
      if (info->live_restore) {
        owner_.clear_condition("live_restore_off");
      } else {
        owner_.set_condition(live_restore_off());
      }
    }
    if (!co_await sleep_for(pause)) co_return;
    if (!info) pause = std::max(pause, milliseconds(1000));
  }
}

}  // namespace k3d::lifecycle
