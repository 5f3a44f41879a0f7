// The plan of a start: the model's headers, the GPUs and the memory as they are now, and what earlier loads measured,
// put together, judged, and turned into what is launched. Asks no Docker: a refusal doesn't wait for it.
// Not here: the figures (daemon/planning), what is refused (planned_profile).
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <list>
#include <memory>
#include <string>

#include "daemon/base/async/task.hpp"
#include "daemon/hub/model_files.hpp"
#include "daemon/lifecycle/journal.hpp"
#include "daemon/lifecycle/measured_memory.hpp"
#include "daemon/model/host_facts.hpp"
#include "daemon/planning/planner.hpp"
#include "daemon/ports/gpu_probe.hpp"

namespace k3d::lifecycle {

/// What is said of a start besides its profile.
struct StartTerms {
  bool accept_risk = false;     ///< start against the plan's advice
  bool as_given = false;        ///< nothing is planned or refused: only what the profile says counts
  std::string own_container;    ///< its memory is given back before the start
  Bytes own_ram = 0;            ///< of this host, the same
  bool own_ram_known = true;    ///< false: an engine of ours runs, and what it holds can't be told
};

/// Files of a profile and what else a plan is made of.
struct StartSubject {
  std::shared_ptr<const Settings> settings;
  Profile profile;
  hub::ModelFiles files;
  std::optional<hub::ModelFiles> draft;  ///< of profile.speculative
  HostFacts host;
};

/// Of all files that an engine reads.
std::string identity_of(const StartSubject& subject);

struct PlannedStart {
  Profile profile;                   ///< with what was computed
  std::shared_ptr<const Plan> plan;  ///< null: these headers or GPUs can't be planned, and the engine is asked as ever
  std::string measured_key, pinned_key, load_rate_key;
  std::string unproven;              ///< in words; empty: nothing needs a proof
  std::size_t gpus = 0;              ///< that the engine sees
};

/// Headers by the identity of their files: a model of 700 GB has some MB of them.
class HeaderCache {
 public:
  /// Blocking. Null if they can't be read: the engine says what is wrong with such files.
  std::shared_ptr<const planning::ModelHeaders> read(const hub::ModelFiles& files);

 private:
  struct Kept {
    std::string identity;
    std::shared_ptr<const planning::ModelHeaders> headers;
  };
  std::list<Kept> kept_;  ///< the newest first
};

class StartPlanner {
 public:
  StartPlanner(GpuProbe& gpus, Journal& journal, asio::thread_pool& files) : gpus_(gpus), journal_(journal), files_(files) {}

  /// Errors: does_not_fit, quant_blocked, quant_unproven.
  Task<Result<PlannedStart>> plan(StartSubject subject, StartTerms terms);

 private:
  struct Seen;
  Task<std::optional<Seen>> look(StartSubject subject, StartTerms terms);
  Task<Result<PlannedStart>> plan_seen(StartSubject subject, Seen seen, PlannedStart start, bool accept_risk);
  Task<std::optional<double>> recall_rate(std::string key);
  Task<std::optional<Profile>> recall_pinned(std::string key, Profile profile);
  Task<std::shared_ptr<const Plan>> compute(planning::PlanInputs inputs, LoadIdentity identity, bool drafts);
  Task<Plan> plan_of(planning::PlanInputs inputs);

  GpuProbe& gpus_;
  Journal& journal_;
  asio::thread_pool& files_;
  HeaderCache headers_;  ///< of the files' thread
};

}  // namespace k3d::lifecycle
