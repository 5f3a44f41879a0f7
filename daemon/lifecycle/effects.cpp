#include "daemon/lifecycle/effects.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/backoff.hpp"
#include "daemon/lifecycle/failure_of.hpp"
#include "daemon/lifecycle/known_conditions.hpp"
#include "daemon/lifecycle/step.hpp"
#include "daemon/lifecycle/supervisor.hpp"
#include "daemon/lifecycle/vram.hpp"

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
constexpr milliseconds kVramPause{500};

}  // namespace

Effects::Effects(Supervisor& owner)
    : owner_(owner),
      planner_(owner.ports_.containers, owner.ports_.host, owner.ports_.gpus, owner.ports_.journal, owner.settings_, files_),
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
  for (auto* slot : {&preparing_, &draining_, &watching_, &exact_, &docker_}) {
    if (*slot) (*slot)->cancel();
  }
  tasks_.cancel();
}

Task<void> Effects::join() {
  for (auto* slot : {&preparing_, &draining_, &watching_, &exact_, &docker_}) {
    // A stop that ends meanwhile retires what it finds here: what is joined is out of its reach.
    const std::unique_ptr<TaskGroup> group = std::move(*slot);
    if (group) co_await group->join();
  }
  co_await tasks_.join();
}

void Effects::perform(const Effect& effect) {
  struct Performer {
    Effects& self;
    void operator()(const effect::Prepare& e) const { self.begin(self.preparing_, self.prepare(e.target)); }
    void operator()(const effect::CancelPrepare&) const { self.retire(std::move(self.preparing_)); }
    void operator()(const effect::CancelDrain&) const { self.retire(std::move(self.draining_)); }
    void operator()(const effect::Clear& e) const { self.begin(self.preparing_, self.clear(e.launch)); }
    void operator()(const effect::Retry& e) const { self.begin(self.preparing_, self.retry(e)); }
    void operator()(const effect::Drain& e) const { self.begin(self.draining_, self.drain(e.engine, e.force)); }
    void operator()(const effect::Stop& e) const { self.tasks_.spawn(self.stop(e.engine)); }
    void operator()(const effect::Start& e) const { self.begin(self.preparing_, self.start(e.launch)); }
    void operator()(const effect::Watch& e) const { self.watch(e.engine, e.loading); }
    void operator()(const effect::Guard& e) const {
      if (self.watching_) self.watching_->spawn(self.guard(e.engine));
    }
    void operator()(const effect::Probe& e) const {
      if (self.watching_) self.watching_->spawn(self.probe(e.engine));
    }
    void operator()(const effect::Discard& e) const {
      self.retire(std::move(self.watching_));
      self.tasks_.spawn(self.discard(e.engine));
    }
    // The supervisor does these itself.
    void operator()(const effect::Preempt&) const {}
    void operator()(const effect::Persist&) const {}
    void operator()(const effect::OperationStep&) const {}
    void operator()(const effect::OperationEnd&) const {}
  };
  std::visit(Performer{*this}, effect);
}

/// What runs is stopped before anything else starts: what it holds counts as free.
StartTerms Effects::terms_now(bool accept_risk) const {
  StartTerms terms;
  terms.accept_risk = accept_risk;
  terms.own_container = last_container_;
  const Engine* engine = running_engine(owner_.state_);
  if (engine == nullptr) return terms;
  terms.own_container = engine->container.value;
  HostProbe& host = owner_.ports_.host;
  const auto process = engine->pid > 0 ? host.process_io(host.engine_pid(engine->pid)) : std::nullopt;
  terms.own_ram_known = process.has_value();
  terms.own_ram = process ? process->resident_own : 0;
  return terms;
}

Task<Result<Launch>> Effects::plan(std::string profile, std::uint64_t attempt, bool accept_risk) {
  const Profile* found = owner_.settings_->find_profile(profile);
  if (found == nullptr) co_return fail(unknown_profile(*owner_.settings_, profile));
  co_return co_await planner_.plan(owner_.profile_in_force(*found), attempt, terms_now(accept_risk));
}

Task<Result<Launch>> Effects::launch_of(Profile profile) {
  StartTerms terms;
  terms.as_given = true;
  co_return co_await planner_.plan(std::move(profile), 0, terms);
}

Task<Result<std::shared_ptr<const Plan>>> Effects::plan_alone(std::string profile, bool accept_risk) {
  const Profile* found = owner_.settings_->find_profile(profile);
  if (found == nullptr) co_return fail(unknown_profile(*owner_.settings_, profile));
  const auto start = co_await planner_.plan_start(owner_.profile_in_force(*found), terms_now(accept_risk));
  if (!start) co_return fail(start.error());
  co_return start->plan;
}

Task<Result<std::shared_ptr<const Plan>>> Effects::plan_alone(Profile profile) {
  const auto start = co_await planner_.plan_start(std::move(profile), terms_now(true));
  if (!start) co_return fail(start.error());
  co_return start->plan;
}

/// What had been started once was accepted then: k3d's own restarts and returns are not for the plan to judge.
bool risk_accepted(const Target& target) {
  return target.accept_risk || target.strikes.restarts > 0 || !target.rolled_back_from.empty();
}

Task<void> Effects::prepare(Target target) {
  if (const Status known = co_await reconciled(); !known) {
    post(event::PrepareFailed{target.operation, failure_of(known.error(), target.profile, 0)});
    co_return;
  }
  const std::uint64_t attempt = co_await owner_.ports_.journal.next_attempt();
  Result<Launch> launch = co_await plan(target.profile, attempt, risk_accepted(target));
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
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) co_return;  // another drain's time has begun
  if (!empty) log::info("the drain ran out of time; what is left is cut", {{"limit_seconds", limit.count()}});
  post(event::Drained{engine.launch.attempt});
}

Task<void> Effects::retry(effect::Retry retry) {
  const auto wait = std::chrono::duration_cast<milliseconds>(retry.delay * owner_.ports_.pace.backoff);
  if (co_await sleep_for(wait)) post(event::RetryDue{retry.due});
}

/// After an engine's end the driver may take half a minute to give its memory back; the next engine's --fit would
/// silently put experts on the CPU instead. Nothing once it is free; cancelled: what was in the way last.
Task<std::optional<Failure>> Effects::wait_for_vram(Launch launch) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + owner_.ports_.pace.vram;
  std::optional<Failure> in_the_way;
  while (!launch.container.cdi_devices.empty()) {
    auto gpus = co_await owner_.ports_.gpus.read();
    if (gpus) {
      const std::vector<GpuState> seen = mark_ours(std::move(*gpus), last_container_);
      in_the_way = vram_in_the_way(seen, uuids_of_devices(launch.container.cdi_devices, seen), {});
    } else {
      // A driver that wakes its cards or hangs says nothing about what is free.
      in_the_way = named_failure("vram_not_released", launch.profile, launch.attempt,
                                 "whether the GPUs' memory is free can't be told: " + gpus.error().text());
    }
    if (!in_the_way || std::chrono::steady_clock::now() >= deadline) break;
    if (!co_await sleep_for(kVramPause)) break;
  }
  if (!in_the_way) co_return std::nullopt;
  in_the_way->profile = launch.profile;
  in_the_way->attempt = launch.attempt;
  co_return in_the_way;
}

Task<void> Effects::clear(Launch launch) {
  const std::uint64_t attempt = launch.attempt;
  std::optional<Failure> in_the_way = co_await wait_for_vram(std::move(launch));
  if (in_the_way) {
    post(event::VramHeld{attempt, std::move(*in_the_way)});
  } else {
    post(event::VramFree{attempt});
  }
}

// ---- stopping -------------------------------------------------------------------------------------------------------

Task<void> Effects::stop(Engine engine) {
  // llama-server hangs in its shutdown as long as any client is connected, waiting ones too: cut them first.
  co_await owner_.ports_.traffic.cut(owner_.generation_);
  Status stopped = co_await stop_container(engine.container);
  while (!stopped && is_dockers_absence(stopped.error().code)) {
    if (!co_await sleep_for(kDockerPause)) co_return;  // nothing has been tried as long as Docker hears nothing
    stopped = co_await stop_container(engine.container);
  }
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
    if (!sent && is_dockers_absence(sent.error().code)) co_return fail(sent.error());
    if (!sent) log::warning("a signal could not be sent", {{"signal", stage.signal}, {"cause", sent.error().text()}});
    if (co_await ends_within(container, std::min<milliseconds>(stage.patience, owner_.ports_.pace.kill))) co_return Status{};
  }
  co_return fail(Code::timed_out, "the engine's container could not be stopped",
                 "look at `docker ps` and `docker logs " + container.value.substr(0, 12) + "`, then deactivate again");
}

Task<bool> Effects::ends_within(ContainerId container, milliseconds patience) {
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
  for (const char* of_an_engine : {"config_drift", "engine_unresponsive", "experts_spilled", "fit_given_up", "no_gpu_seen",
                                   "memory_differs_from_plan", "unproven_quant", "ghost_container", "foreign_gpu_processes"}) {
    owner_.clear_condition(of_an_engine);
  }
  const Status removed = co_await owner_.ports_.containers.remove(engine.container);
  if (!removed) log::warning("a container stays behind", {{"cause", removed.error().text()}});
}

// ---- starting -------------------------------------------------------------------------------------------------------

/// The engine's dry run, where the profile asks for it. It has held memory of the GPUs, too; and meanwhile someone may
/// have asked for something else.
Task<std::optional<Failure>> Effects::preflight(Launch launch) {
  if (!launch.exact_preflight) co_return std::nullopt;
  const Status fine = co_await ask_engine_first(launch);
  if (!fine) co_return failure_of(fine.error(), launch.profile, launch.attempt);
  if (target_profile(owner_.state_) != launch.profile) {
    co_return failure_of({Code::cancelled, "something else was asked for", {}, {}}, launch.profile, launch.attempt);
  }
  co_return co_await wait_for_vram(std::move(launch));
}

Task<void> Effects::start(Launch launch) {
  std::optional<Failure> refused = co_await preflight(launch);
  if (refused) {
    post(event::StartFailed{launch.attempt, std::move(*refused)});
    co_return;
  }
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
  const std::string name = spec.name;
  const Result<ContainerId> id = co_await containers.create(std::move(spec));
  if (!id && id.error().code == Code::conflict) {
    co_return fail(Code::conflict, "a container that isn't k3d's has the name " + name,
                   "the next try takes another number; see what it is with `docker ps -a`", id.error().message);
  }
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

}  // namespace k3d::lifecycle
