// Effects, the part that watches a running engine: its end, its readiness, its progress, its log.
#include <algorithm>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/files.hpp"
#include "daemon/base/log.hpp"
#include "daemon/engine/failures.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/failure_of.hpp"
#include "daemon/lifecycle/known_conditions.hpp"
#include "daemon/lifecycle/load_meter.hpp"
#include "daemon/lifecycle/measured_memory.hpp"
#include "daemon/lifecycle/step.hpp"
#include "daemon/lifecycle/supervisor.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr milliseconds kHealthInterval{20};
constexpr milliseconds kProgressInterval{250};
constexpr milliseconds kLogInterval{2000};
constexpr milliseconds kLogPatience{3000};
constexpr milliseconds kWaitPause{1000};
constexpr milliseconds kSecondLook{700}, kSecondLookPause{50};
constexpr Bytes kLogLimit = 64 * kMiB;
constexpr Bytes kPiece = 256 * kKiB, kSignsWithin = 8 * kMiB;
constexpr std::size_t kEvidenceLines = 200;

seconds stall_limit(const Settings& settings, const std::string& name) {
  const Profile* profile = settings.find_profile(name);
  return profile != nullptr ? profile->stall : seconds(600);
}

}  // namespace

void Effects::watch(Engine engine, bool loading) {
  last_container_ = engine.container.value;
  oom_kills_ = owner_.ports_.host.oom_kills();
  if (!engine.launch.unproven.empty()) owner_.set_condition(unproven_quant(engine.launch.unproven));
  retire(std::move(watching_));
  watching_ = std::make_unique<TaskGroup>(owner_.loop_);
  watching_->spawn(await_end(engine));
  watching_->spawn(bound_log_of(engine));
  watching_->spawn(read_signs(engine));
  if (engine.launch.log.empty()) watching_->spawn(collect_log(engine));
  if (loading) {
    watching_->spawn(poll_health(engine));
    watching_->spawn(watch_load(engine));
  }
}

Task<void> Effects::await_end(Engine engine) {
  Result<ContainerInfo> ended = co_await owner_.ports_.containers.wait(engine.container);
  // Docker in trouble says nothing about the engine: its end is waited for as long as it runs.
  while (!ended && ended.error().code != Code::not_found) {
    docker_failed(ended.error());
    if (!co_await sleep_for(kWaitPause)) co_return;
    ended = co_await owner_.ports_.containers.wait(engine.container);
  }
  if (ended) {
    co_await last_words(engine);
    ended = co_await look_twice(*ended);
  }
  if (ended) {
    const bool ready = !active_profile(owner_.state_).empty();
    Failure failure = co_await judge(engine.launch, *ended, ready);
    post(event::Exited{engine.launch.attempt, std::move(failure)});
  } else {
    post(event::Exited{engine.launch.attempt, named_failure("removed_externally", engine.launch.profile,
                                                            engine.launch.attempt, ended.error().message)});
  }
}

/// They say why it ended: through Docker they may come after the news of the end.
Task<void> Effects::last_words(Engine engine) {
  const SteadyTime deadline = steady_clock::now() + kLogPatience;
  while (engine.launch.log.empty() && logged_ < engine.launch.attempt && steady_clock::now() < deadline) {
    co_await logging_.wait(deadline);
  }
}

/// An end by a signal may be the beginning of something larger: Docker, which ends its containers before it goes
/// itself, or someone's `docker rm -f`. Error not_found if the container goes.
Task<Result<ContainerInfo>> Effects::look_twice(ContainerInfo ended) {
  const int code = ended.exit_code.value_or(137);
  const bool by_signal = code == 0 || code == 137 || code == 143;
  const SteadyTime until = steady_clock::now() + kSecondLook;
  while (by_signal && !ended.oom_killed && steady_clock::now() < until) {
    const Result<ContainerInfo> now = co_await owner_.ports_.containers.inspect(ended.id);
    if (!now && now.error().code == Code::not_found) co_return fail(now.error());
    if (now && now->status == ContainerStatus::removing) {
      co_return fail(Code::not_found, "container " + ended.name + " is being removed");
    }
    if (!now) docker_failed(now.error());
    if (!now || !co_await sleep_for(kSecondLookPause)) break;
  }
  co_return ended;
}

Task<Failure> Effects::judge(Launch launch, ContainerInfo ended, bool ready) {
  engine::Evidence evidence;
  evidence.exit_code = ended.exit_code;
  evidence.oom_killed = ended.oom_killed;
  evidence.docker_restarted = docker_restarted(ended);
  evidence.kernel_oom = oom_kills_ && owner_.ports_.host.oom_kills() > *oom_kills_;
  evidence.ready = ready;
  evidence.lines = co_await tail_of(launch.folder / "engine.log", kEvidenceLines);
  Failure failure = engine::classify(evidence);
  failure.profile = launch.profile;
  failure.attempt = launch.attempt;
  failure.at = ended.finished_at.value_or(system_clock::now());
  co_return failure;
}

Task<std::vector<std::string>> Effects::tail_of(std::filesystem::path log, std::size_t lines) {
  auto read = [log = std::move(log), lines] { return log_tail(log, lines); };
  co_return co_await offload(files_, std::move(read));
}

Task<Bytes> Effects::length_of(std::filesystem::path log) {
  auto look = [log = std::move(log)] { return log_length(log); };
  co_return co_await offload(files_, std::move(look));
}

Task<void> Effects::poll_health(Engine engine) {
  for (;;) {
    const Result<Health> health = co_await owner_.ports_.engines.health(engine.launch.address);
    if (health && *health == Health::ok) {
      remember_rate(engine);
      post(event::HealthOk{engine.launch.attempt});
      co_return;
    }
    if (!co_await sleep_for(kHealthInterval)) co_return;
  }
}

Task<void> Effects::watch_load(Engine engine) {
  const std::filesystem::path log = engine.launch.folder / "engine.log";
  const seconds limit = stall_limit(*owner_.settings_, engine.launch.profile);
  LoadMeter meter(engine.launch.weight_bytes, steady_clock::now());
  do {
    engine.pid = co_await first_process(engine);
    const Bytes length = co_await length_of(log);
    // Asking takes time: the figures of a load that is over would stay for good.
    if (owner_.phase_ != Phase::loading && owner_.phase_ != Phase::starting) co_return;
    meter.sample(figures_of(engine), length, steady_clock::now());
    owner_.set_load(meter.view());
    if (meter.silent_for(steady_clock::now()) >= limit) {
      const std::vector<std::string> last = co_await tail_of(log, 20);
      post(event::GaveUp{engine.launch.attempt, engine::load_stalled(engine.launch.profile, engine.launch.attempt, limit,
                                                                     last, owner_.conditions_.has("numa_balancing_on"))});
      co_return;
    }
  } while (co_await sleep_for(kProgressInterval));
}

/// Docker may have been silent right after the start, or the container not begun yet: it is asked again. 0 while it
/// doesn't say.
Task<int> Effects::first_process(Engine engine) {
  if (engine.pid > 0) co_return engine.pid;
  const Result<ContainerInfo> info = co_await owner_.ports_.containers.inspect(engine.container);
  co_return info ? info->pid : 0;
}

std::optional<ProcessIo> Effects::figures_of(const Engine& engine) const {
  const int pid = engine.pid > 0 ? owner_.ports_.host.engine_pid(engine.pid) : 0;
  return pid > 0 ? owner_.ports_.host.process_io(pid) : std::nullopt;
}

Task<void> Effects::probe(Engine engine) {
  const seconds limit = stall_limit(*owner_.settings_, engine.launch.profile);
  const SteadyTime deadline = steady_clock::now() + limit;
  Status answered;
  // A 503 right after a 200 is a flap, not a verdict: three failures that aren't one end the start.
  for (int failures = 0; failures < 3 && steady_clock::now() < deadline;) {
    answered = co_await owner_.ports_.engines.probe(engine.launch.address, limit);
    if (answered) {
      post(event::ProbeOk{engine.launch.attempt, system_clock::now()});
      co_return;
    }
    if (answered.error().code != Code::model_loading) ++failures;
    if (!co_await sleep_for(milliseconds(200))) co_return;
  }
  Failure failure = failure_of(answered.error(), engine.launch.profile, engine.launch.attempt);
  failure.title = "The engine reports health but does not answer";
  post(event::GaveUp{engine.launch.attempt, std::move(failure)});
}

Task<void> Effects::bound_log_of(Engine engine) {
  const std::filesystem::path log = engine.launch.folder / "engine.log";
  do {
    auto bound = [log] {
      bound_log(log, kLogLimit);
      return true;
    };
    co_await offload(files_, std::move(bound));
  } while (co_await sleep_for(kLogInterval));
}

/// What the log says of the load: hints for conditions only.
Task<void> Effects::read_signs(Engine engine) {
  const std::filesystem::path log = engine.launch.folder / "engine.log";
  engine::LogSignReader reader;
  Bytes read = 0;
  while (!reader.signs().loaded && read < kSignsWithin) {
    auto next = [log, read] { return log_piece(log, read, kPiece); };
    const std::string piece = co_await offload(files_, std::move(next));
    read += piece.size();
    reader.feed(piece);
    if (piece.empty() && !co_await sleep_for(kLogInterval)) co_return;
  }
  const engine::LogSigns& signs = reader.signs();
  show_signs(engine, signs);
  if (signs.loaded) show_measured(engine, signs);
  if (signs.loaded && signs.fitted) co_await remember_placement(engine, *signs.fitted);
}

void Effects::show_signs(const Engine& engine, const engine::LogSigns& signs) {
  const Plan* plan = engine.launch.plan.get();
  const Bytes spilled = plan != nullptr ? spilled_beyond(*plan, signs) : engine::spilled_bytes(signs).value_or(0);
  if (spilled > 0) owner_.set_condition(experts_spilled(spilled));
  if (!signs.fit_given_up.empty()) owner_.set_condition(fit_given_up(signs.fit_given_up));
  const bool wanted = !engine.launch.container.cdi_devices.empty();
  if (wanted && !signs.no_gpu.empty()) owner_.set_condition(no_gpu_seen(signs.no_gpu));
}

Task<void> Effects::collect_log(Engine engine) {
  const std::filesystem::path file = engine.launch.folder / "engine.log";
  // Docker gives the whole log again: what an earlier daemon wrote of it would be there twice.
  if (engine.adopted) {
    auto empty = [file] { return write_file(file, "", 0600); };
    const Status emptied = co_await offload(files_, std::move(empty));
    if (!emptied) log::warning("the engine's log may repeat itself");
  }
  const auto stream = owner_.ports_.containers.logs(engine.container, LogRequest{true, {}, std::nullopt});
  auto line = co_await stream->next();
  for (; line && *line; line = co_await stream->next()) {
    auto keep = [file, text = std::move((*line)->text)] {
      append_line(file, text);
      return true;
    };
    co_await offload(files_, std::move(keep));
  }
  logged_ = std::max(logged_, engine.launch.attempt);
  logging_.notify();
}

}  // namespace k3d::lifecycle
