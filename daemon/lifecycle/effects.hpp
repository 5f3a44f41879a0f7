// Performs what `step` asks for, against the ports, and posts what came of it back to the supervisor.
// Decides nothing about the lifecycle.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <optional>

#include "daemon/base/async/task_group.hpp"
#include "daemon/engine/log_signs.hpp"
#include "daemon/lifecycle/changes.hpp"
#include "daemon/lifecycle/launch_plan.hpp"
#include "daemon/lifecycle/liveness.hpp"
#include "daemon/lifecycle/recovery.hpp"
#include "daemon/model/instance.hpp"
#include "daemon/model/measured.hpp"

namespace k3d::lifecycle {

class Supervisor;

/// Whether the plan has no say: a person said so, or the start repeats one that was accepted.
bool risk_accepted(const Target& target);

class Effects {
 public:
  explicit Effects(Supervisor& owner);
  ~Effects();

  void perform(const Effect& effect);
  /// The launch of a profile as of now. Attempt 0: a dry run. Errors: LaunchPlanner's.
  Task<Result<Launch>> plan(std::string profile, std::uint64_t attempt, bool accept_risk);
  /// Whether the plan of a profile lets it start now, asking no Docker. Errors: the plan's, files_missing.
  Task<Result<std::shared_ptr<const Plan>>> plan_alone(std::string profile, bool accept_risk);
  /// The same of settings that aren't configured so; nothing is refused for its plan.
  Task<Result<std::shared_ptr<const Plan>>> plan_alone(Profile profile);
  /// Of a profile as it is given, without overrides; for no attempt.
  Task<Result<Launch>> launch_of(Profile profile);
  /// The containers of this instance, as soon as Docker answers: the one that runs, how the last one ended; what is
  /// left of others is removed. `served`: whether what ran last had been ready, as far as is remembered.
  Task<Found> reconcile(bool served);
  /// What ran before is known and adopted: from now on engines may be started.
  void begin_work();
  Task<HostFacts> host_facts();
  /// What the engine itself says that a start of `profile`, as it is, would take; minutes. Errors: gpus_held; conflict,
  /// while an engine has the GPUs; cancelled, when an activation wanted them; those of a launch and of a dry run.
  Task<Result<ExactFigures>> exact_figures(Profile profile, std::shared_ptr<const Plan> plan);
  /// Another configuration from now on.
  void use(std::shared_ptr<const Settings> settings) { planner_.use(std::move(settings)); }
  /// Whether what runs differs from what its profile would start now; keeps the condition config_drift true.
  Task<bool> look_for_drift();
  /// The same in the background.
  void compare_again();
  /// Docker's error while it keeps what runs from being known.
  [[nodiscard]] std::optional<Error> what_runs_is_unknown() const;
  /// Returns once it is known, once Docker has failed to tell, or at `deadline`.
  Task<void> first_look(SteadyTime deadline);
  /// Keeps the conditions about Docker true from now on.
  void watch_docker();
  void cancel();
  Task<void> join();

 private:
  void begin(std::unique_ptr<TaskGroup>& slot, Task<void> task);
  void retire(std::unique_ptr<TaskGroup> group);
  void post(Event event);

  [[nodiscard]] StartTerms terms_now(bool accept_risk) const;
  Task<void> prepare(Target target);
  Task<void> drain(Engine engine, bool force);
  Task<void> start(Launch launch);
  Task<Status> ask_engine_first(Launch launch);
  Task<Result<Engine>> create_and_start(Launch launch);
  Task<Status> clear_the_way(std::string keep);
  Task<Status> prepare_files(Launch launch);
  Task<Result<ContainerId>> create_and_run(LaunchSpec spec);
  Task<void> stop(Engine engine);
  Task<Status> stop_container(ContainerId container);
  Task<bool> ends_within(ContainerId container, milliseconds patience);
  Task<void> discard(Engine engine);
  void watch(Engine engine, bool loading);
  Task<void> clear(Launch launch);
  Task<std::optional<Failure>> wait_for_vram(Launch launch);
  Task<std::optional<Failure>> preflight(Launch launch);
  struct ExactQuestion;
  Task<void> answer_exactly(std::shared_ptr<ExactQuestion> question);
  Task<void> retry(effect::Retry retry);
  Task<Status> reconciled();
  Task<Found> sort_out(std::vector<ContainerInfo> found, bool served);
  Task<std::optional<std::size_t>> choose(std::vector<ContainerInfo> found);
  Task<void> remove_leftover(ContainerInfo container);
  Task<Result<Launch>> configured(std::string profile);
  Task<void> look_around();
  Task<void> meet(ContainerInfo container);
  void look_for_ghost(const Engine& engine);
  Task<void> guard(Engine engine);
  Task<LivenessMeter::Sample> look_at(Engine engine);
  Task<void> await_end(Engine engine);
  Task<void> collect_log(Engine engine);
  Task<void> poll_health(Engine engine);
  Task<void> watch_load(Engine engine);
  Task<void> last_words(Engine engine);
  Task<Result<ContainerInfo>> look_twice(ContainerInfo ended);
  Task<void> bound_log_of(Engine engine);
  Task<void> read_signs(Engine engine);
  void show_signs(const Engine& engine, const engine::LogSigns& signs);
  void remember_rate(const Engine& engine);
  void show_measured(const Engine& engine, const engine::LogSigns& signs);
  Task<void> remember_placement(Engine engine, engine::FitOutcome placed);
  Task<int> first_process(Engine engine);
  [[nodiscard]] std::optional<ProcessIo> figures_of(const Engine& engine) const;
  Task<std::vector<std::string>> tail_of(std::filesystem::path log, std::size_t lines);
  Task<Bytes> length_of(std::filesystem::path log);
  Task<void> probe(Engine engine);
  Task<void> docker_health();
  Task<Failure> judge(Launch launch, ContainerInfo ended, bool ready);
  [[nodiscard]] bool docker_restarted(const ContainerInfo& ended) const;
  void docker_failed(const Error& error);

  Supervisor& owner_;
  asio::thread_pool files_{1};               ///< file systems may block
  LaunchPlanner planner_;
  bool reconciled_ = false;                  ///< what ran before this daemon is known: only then is anything started
  std::optional<Error> unreconciled_;        ///< why it isn't known yet, as far as Docker said
  Changes reconciling_;
  std::string last_container_;               ///< of the newest engine: its processes are ours even after its end
  bool live_restore_ = false;                ///< as far as Docker said
  WallTime docker_away_at_{};                ///< when Docker was last found to be gone
  int ghost_sightings_ = 0;
  std::optional<std::uint64_t> oom_kills_;   ///< of the kernel, when the engine's watch began
  std::uint64_t logged_ = 0;                 ///< the newest attempt whose log has come through Docker to its end
  Changes logging_;
  TaskGroup tasks_;                          ///< stops, discards, retirements: never cancelled half-way
  std::unique_ptr<TaskGroup> preparing_;     ///< the one Prepare, Clear, Retry or Start under way
  std::unique_ptr<TaskGroup> draining_;
  std::unique_ptr<TaskGroup> watching_;      ///< the watchers of the engine that runs
  std::unique_ptr<TaskGroup> exact_;         ///< the one question to the engine's own dry run
  std::unique_ptr<TaskGroup> docker_;
};

}  // namespace k3d::lifecycle
