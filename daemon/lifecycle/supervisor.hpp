// The one writer of lifecycle state. Everything that happens reaches it on the control loop, one event after the
// other; it asks `step` what that means, has `effects` do it, and publishes what everyone else may see.
// Knows an engine only as a launch, a readiness probe, a log and a way to drain.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "daemon/base/async/task_group.hpp"
#include "daemon/lifecycle/changes.hpp"
#include "daemon/lifecycle/conditions.hpp"
#include "daemon/lifecycle/journal.hpp"
#include "daemon/lifecycle/recovery.hpp"
#include "daemon/lifecycle/step.hpp"
#include "daemon/model/instance.hpp"
#include "daemon/operations/registry.hpp"
#include "daemon/ports/board.hpp"
#include "daemon/ports/containers.hpp"
#include "daemon/ports/demand.hpp"
#include "daemon/ports/engine_client.hpp"
#include "daemon/ports/gpu_probe.hpp"
#include "daemon/ports/host_probe.hpp"
#include "daemon/ports/notifier.hpp"
#include "daemon/ports/traffic.hpp"

namespace k3d::lifecycle {

/// How often things are looked at and how long they are waited for; tests are quicker.
struct Pace {
  milliseconds guard{5000};     ///< an engine that serves
  milliseconds quiet{60'000};   ///< until a silent engine is in doubt, and one that nobody can reach is dead
  milliseconds docker{5000};    ///< Docker and its containers
  milliseconds gpus{5000};
  milliseconds kill{30'000};    ///< at most, until a signal has ended an engine
  milliseconds vram{120'000};   ///< at most, until the GPUs' memory is free
  double backoff = 1;           ///< of the waits between tries
};

/// Everything outside that the lifecycle needs; all of it outlives the supervisor.
struct Ports {
  Containers& containers;
  EngineClient& engines;
  HostProbe& host;
  Traffic& traffic;
  Notifier& notifier;
  Board& board;
  Journal& journal;
  GpuProbe& gpus;
  /// A profile with its overrides; error invalid_request.
  std::function<Result<Profile>(const Profile&, const Overrides&)> overridden;
  Pace pace = {};
};

struct ActivateAsk {
  std::string profile;
  bool force = false, restart = false;
  bool preempt = false;  ///< end the operation that holds the GPUs
  std::string reason, asked_by;
  bool accept_risk = false;  ///< start against the plan's advice
};

struct OverridesAsk {
  std::string profile;
  Overrides set;  ///< empty: none from now on
  std::string reason, asked_by;
};

struct DeactivateAsk {
  bool force = false;
  std::string reason, asked_by;
};

struct Asked {
  Operation operation;
  bool started = false;  ///< false: it runs already, or the same request is under way
};

class Effects;

class Supervisor : public Demand {
 public:
  /// `serialise` makes the body of GET status: once per revision, shared by all who ask.
  Supervisor(Executor loop, Ports ports, std::shared_ptr<const Settings> settings, std::string version,
             std::function<std::string(const Snapshot&)> serialise);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor() override;

  /// Restores what the store remembers and finds running containers as soon as Docker answers. Returns at once.
  void start();
  /// Ends every task; with `stop_engine` the engine is stopped first (at most 60 s). The engine is left otherwise.
  Task<void> finish(bool stop_engine);

  /// Errors: unknown_profile; gpus_held; shutting_down.
  Result<Asked> activate(ActivateAsk ask);
  /// After a start: waits until it is known what runs, or until Docker has failed to tell; at most 5 s. For who is
  /// about to activate or deactivate: what runs is drained then, and can be returned to.
  Task<void> first_look();
  /// Errors: shutting_down; Docker's, before it first answered.
  Result<Asked> deactivate(DeactivateAsk ask);
  /// Errors: not_found; conflict if it has ended.
  Result<Operation> cancel(const OperationId& id, std::string asked_by = {});
  /// From the profile's next start on, kept in the state. What it answers is in force then.
  /// Errors: unknown_profile; invalid_request, naming the key and what is allowed; shutting_down.
  Result<Overrides> override_settings(OverridesAsk ask);
  Task<Status> ensure_ready(Wanted wanted, SteadyTime until) override;
  /// The GPUs are `holder`'s, an operation that isn't an activation, until release_gpus(). `give_way` is called when
  /// an activation wants them. Errors: gpus_held; conflict, while an engine has them; Docker's, before it is known.
  Status hold_gpus(const OperationId& holder, std::function<void()> give_way);
  void release_gpus(const OperationId& holder);
  /// The configuration is another from now on; what runs goes on. Answers the profiles that run by other settings.
  Task<std::vector<std::string>> use(std::shared_ptr<const Settings> settings);
  void record(std::string who, std::string action, std::string subject, std::string reason, std::string operation,
              std::string outcome);
  /// The newest `limit` entries before number `before` (0: of all).
  Task<Result<std::vector<AuditEntry>>> audit(int limit, std::uint64_t before);
  /// Returns once everything asked so far is written down, as far as the store can: what is answered to a client after
  /// this outlives a crash.
  Task<void> recorded() { return ports_.journal.flush(); }
  /// What an activation would start, without starting it. Errors: those of an activation, and of its preparation.
  Task<Result<Launch>> dry_run(std::string profile, bool accept_risk = false);
  /// Whether an activation would be refused by its plan, before anything is touched; null where it can't be planned.
  /// Errors: does_not_fit, quant_blocked, quant_unproven; files_missing; timed_out, after 10 s.
  Task<Result<std::shared_ptr<const Plan>>> plan(std::string profile, bool accept_risk);
  /// The same of settings that aren't configured so.
  Task<Result<Launch>> dry_run(Profile profile);
  /// With what earlier loads of the same measured; null where it can't be planned. Errors: those of the model's files.
  Task<Result<std::shared_ptr<const Plan>>> plan(Profile profile);
  /// The engine's own figures for a start of `profile` as it is, beside those of `plan`. See Effects::exact_figures.
  Task<Result<ExactFigures>> exact_figures(Profile profile, std::shared_ptr<const Plan> plan);

  /// Whether it is known what ran before this daemon, and what was under way goes on. Each snapshot may bring it.
  [[nodiscard]] bool restored() const { return restored_; }
  [[nodiscard]] const operations::Registry& operations() const { return registry_; }
  [[nodiscard]] std::string create_body(const Launch& launch) const;
  [[nodiscard]] std::vector<std::string> log_tail(std::uint64_t attempt, std::size_t lines) const;
  /// The log file of an attempt, 0: the newest; empty if there is none.
  [[nodiscard]] std::filesystem::path log_file(std::uint64_t attempt) const;

  /// The newest snapshot as soon as it isn't `since` (a revision), at `deadline` the current one.
  Task<SnapshotPtr> changed(std::string since, SteadyTime deadline);
  [[nodiscard]] SnapshotPtr snapshot() const { return ports_.board.read(); }

  /// Trouble that others see: sockets that can't be bound, a configuration that is bad.
  void set_condition(Condition condition);
  void clear_condition(const std::string& code);

 private:
  friend class Effects;

  void apply(Event event);
  [[nodiscard]] Facts facts_for(const Event& event) const;
  void note(const Event& event);
  void set_container_name(const ContainerId& id, const std::string& name);
  bool heal(Event& event);
  void apply_remedy(const Profile& configured, Failure& failure);
  void enter_phase();
  void remember_failure(const Event& event);
  void perform(const Effect& effect);
  void end_operation(const effect::OperationEnd& end);
  /// At once, with a new revision.
  void publish();
  /// Figures: at most once a second.
  void publish_figures();
  void set_load(const LoadView& load);
  void set_measured(std::uint64_t attempt, MeasuredMemory measured);
  void store_outcome(const std::optional<Error>& error);
  Task<void> restore();
  Task<Memory> recall();
  Task<void> recall_overrides(std::shared_ptr<const Settings> settings);
  bool overtaken(const std::vector<Operation>& open);
  Task<void> carry_out(Recovery recovery, std::vector<Operation> open);
  Task<void> feed_figures();
  Task<void> feed_gpus();
  [[nodiscard]] bool is_unfit(const std::string& profile) const;
  void stop_when_idle(const ProxyView& seen);
  [[nodiscard]] std::vector<std::string> uuids_of_launch() const;
  [[nodiscard]] Profile profile_in_force(const Profile& profile) const;

  Executor loop_;
  Ports ports_;
  std::shared_ptr<const Settings> settings_;
  std::string version_;
  std::function<std::string(const Snapshot&)> serialise_;
  operations::Registry registry_;
  Conditions conditions_;
  Changes changes_;
  InstanceState state_;
  std::optional<Failure> last_failure_;
  std::set<std::string> unfit_;        ///< profiles whose newest start or engine failed for reasons of their own
  std::map<std::string, int> healed_;  ///< by profile: how many remedies k3d applied by itself
  std::function<void()> give_way_;     ///< of whoever holds the GPUs
  std::vector<GpuState> gpus_;
  ContainerId named_;           ///< the container whose name is
  std::string container_name_;  ///< as Docker has it now
  LoadView load_;
  std::uint64_t measured_attempt_ = 0;
  MeasuredMemory measured_;     ///< of that attempt
  std::map<std::string, Overrides> overrides_;
  std::set<std::string> recalled_;  ///< profiles whose overrides have been read
  Phase phase_ = Phase::stopped;
  WallTime phase_since_;
  SteadyTime ready_since_{};
  SteadyTime busy_at_{};         ///< when a request was last seen
  std::uint64_t admitted_ = 0;   ///< requests until then
  bool admitting_ = false;
  std::uint64_t generation_ = 0;
  std::uint64_t revision_ = 0;
  std::string boot_;
  SteadyTime published_at_{};
  bool finishing_ = false;
  bool closed_ = false;
  bool restored_ = false;
  bool asked_ = false;  ///< something was asked for since the start
  TaskGroup tasks_;
  std::unique_ptr<Effects> effects_;
};

}  // namespace k3d::lifecycle
