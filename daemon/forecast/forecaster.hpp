// Answers what would run here, and how: asks the GPUs, the memory and the model's files, has planning work it out on an
// executor of its own, and keeps the newest plan of every profile. Of the control loop; nothing is computed on it.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/base/async/task_group.hpp"
#include "daemon/forecast/asked_profile.hpp"
#include "daemon/forecast/hardware.hpp"
#include "daemon/forecast/headers_cache.hpp"
#include "daemon/model/launch.hpp"
#include "daemon/model/measured.hpp"
#include "daemon/ports/board.hpp"
#include "daemon/ports/containers.hpp"
#include "daemon/ports/gpu_probe.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::forecast {

/// Everything outside that a forecast needs; all of it outlives the forecaster.
struct Surroundings {
  Board& board;
  GpuProbe& gpus;
  Containers& containers;
  /// This host's memory now; nothing: unknown. Blocking.
  std::function<std::optional<planning::HostRam>()> ram;
  Overridden overridden;
  /// What an activation of that profile would start.
  std::function<Task<Result<Launch>>(Profile)> launch;
  /// The headers of a quant that isn't here, from the hub; empty: this k3d can't ask it. Errors: the hub's.
  std::function<Task<Result<HeadersPtr>>(Model, std::string quant)> remote = {};
  /// The engine's own figures for a start of that profile as it is, beside those of the plan. Minutes; it holds the GPUs.
  /// Empty: this k3d can't ask an engine. Errors: gpus_held, conflict, and the launch's.
  std::function<Task<Result<ExactFigures>>(Profile, std::shared_ptr<const Plan>)> exact = {};
  /// The plan of a start of that profile as it is, with what earlier loads measured; null: it can't be planned. Empty:
  /// nothing is remembered.
  std::function<Task<Result<std::shared_ptr<const Plan>>>(Profile)> start = {};
  milliseconds look{1000};     ///< how often it is seen whether an outlook is out of date by what is known
  milliseconds renew{30'000};  ///< and how old one may be
};

class Forecaster final : public Planner {
 public:
  Forecaster(Executor loop, Surroundings around);

  /// Outlooks are kept up from now on.
  void start();
  Task<void> stop();

  Task<Result<PlanAnswer>> plan(PlanQuestion question) override;
  Task<std::vector<QuantView>> quants() override;
  [[nodiscard]] std::shared_ptr<const Result<PlanAnswer>> outlook(const std::string& profile) const override;

 private:
  struct Outlook {
    Profile profile;  ///< that it is of
    std::shared_ptr<const Result<PlanAnswer>> answer;
  };
  /// `fetches`: the hub may be asked.
  Task<Result<PlanAnswer>> answer(PlanQuestion question, SnapshotPtr now, bool fetches);
  Task<Result<Hardware>> hardware(PlanQuestion question, Profile profile, SnapshotPtr now);
  Task<std::optional<planning::HostRam>> ram(SnapshotPtr now);
  Task<Result<HeadersPtr>> fetch(SnapshotPtr now, Profile profile, Error missing);
  Task<void> add_argv(PlanAnswer& answer);
  Task<void> add_measured(PlanAnswer& answer);
  Task<Result<PlanAnswer>> made_exact(PlanAnswer answer);
  Task<void> keep_outlooks();
  Task<void> renew_outlooks(SnapshotPtr now);

  Surroundings around_;
  HeadersCache cache_;  ///< the pool's alone
  std::map<std::string, Outlook> outlooks_;
  TaskGroup tasks_;
  asio::thread_pool pool_{1};  ///< last: it ends before what its work uses
};

}  // namespace k3d::forecast
