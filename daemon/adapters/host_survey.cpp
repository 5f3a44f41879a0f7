#include "daemon/adapters/host_survey.hpp"

#include <algorithm>
#include <set>

#include "daemon/adapters/host_survey_thread.hpp"
#include "daemon/adapters/proc_disks.hpp"
#include "daemon/adapters/proc_machine.hpp"
#include "daemon/adapters/proc_read_speed.hpp"
#include "daemon/adapters/proc_servers.hpp"
#include "daemon/adapters/proc_units.hpp"
#include "daemon/adapters/tailscale.hpp"
#include "daemon/base/async/sleep.hpp"

namespace k3d::adapters {
namespace {

using std::chrono::steady_clock;

HostReport look_at_machine(const SurveyOptions& options) {
  HostReport part;
  part.module = read_driver_module(options.driver_version);
  part.cpu = read_cpu(options.root);
  part.numa = read_numa(options.root);
  part.memory = read_memory(options.root);
  part.memlock = read_memlock(options.root);
  part.units = read_engine_units(options.root);
  part.servers = read_servers(options.root);
  part.tailscale_address = tailscale_address();
  part.clock_synchronised = read_clock(options.root);
  return part;
}

HostReport look_at_disks(const SurveyOptions& options, const Settings& settings, bool probe) {
  HostReport part;
  part.disks = read_disks(options.root, settings);
  for (DiskFacts& disk : *part.disks) {
    if (probe && disk.use != DiskUse::state) disk.read_speed = measure_read_speed(disk.there, options.probe_limit);
  }
  return part;
}

void take_machine(HostReport& report, std::optional<HostReport> part) {
  if (!part) return;
  report.module = std::move(part->module);
  report.cpu = std::move(part->cpu);
  report.numa = std::move(part->numa);
  report.memory = std::move(part->memory);
  report.memlock = std::move(part->memlock);
  report.units = std::move(part->units);
  report.servers = std::move(part->servers);
  report.tailscale_address = std::move(part->tailscale_address);
  report.clock_synchronised = std::move(part->clock_synchronised);
}

/// What the settings and the state of k3d say.
HostReport begun(const Snapshot& now) {
  HostReport report;
  report.taken_at = std::chrono::system_clock::now();
  const Settings& settings = *now.settings;
  for (const Profile& profile : settings.profiles) {
    report.gpus_wanted |= profile.gpus.choice != GpuChoice::none;
    const auto model = settings.models.find(profile.model);
    report.hub_wanted |= model != settings.models.end() && !model->second.repo.empty();
  }
  report.tailscale_wanted = std::any_of(settings.proxy.listen.begin(), settings.proxy.listen.end(),
                                        [](const std::string& address) { return address.starts_with("auto:"); });
  report.memlock_refused = std::any_of(now.conditions.begin(), now.conditions.end(),
                                       [](const Condition& condition) { return condition.code == "memlock_limited"; });
  return report;
}

void mark_ours(GpuReport& report, const Snapshot& now) {
  const std::string engine = now.engine ? now.engine->container_id.value : "";
  for (GpuFacts& gpu : report.gpus) {
    for (GpuProcess& process : gpu.state.processes) process.ours = !engine.empty() && process.container == engine;
  }
}

DockerFacts facts_of(const DockerInfo& info) {
  return {info.version, info.api_version, info.cdi, info.cdi_devices_known, info.cdi_devices, info.live_restore};
}

/// While somebody surveys; however that ends, those who wait are woken.
class Turn {
 public:
  Turn(bool& taken, asio::steady_timer& over) : taken_(taken), over_(over) { taken_ = true; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    taken_ = false;
    over_.cancel();
  }

 private:
  bool& taken_;
  asio::steady_timer& over_;
};

class Survey final : public HostSurvey {
 public:
  Survey(const Executor& loop, GpuInspector& gpus, Containers& containers, SurveyOptions options)
      : gpus_(gpus),
        containers_(containers),
        options_(std::move(options)),
        machine_(loop),
        disks_(loop),
        over_(loop, SteadyTime::max()) {}

  Task<HostReport> take(SnapshotPtr now, bool probe_disks) override {
    while (taken_) co_await over_.async_wait(tok);
    if (!probe_disks && last_ && steady_clock::now() - taken_at_ < options_.fresh) co_return *last_;
    const Turn turn(taken_, over_);
    HostReport report = co_await collect(std::move(now), probe_disks);
    last_ = report;
    taken_at_ = steady_clock::now();
    co_return report;
  }

 private:
  Task<HostReport> collect(SnapshotPtr now, bool probe) {
    machine_.begin([options = options_] { return look_at_machine(options); });
    disks_.begin([options = options_, settings = now->settings, probe] { return look_at_disks(options, *settings, probe); });
    const SteadyTime until = steady_clock::now() + options_.limit;
    HostReport report = begun(*now);
    report.gpus = co_await gpus_.inspect();
    if (report.gpus) mark_ours(*report.gpus, *now);
    co_await ask_docker(report);
    take_machine(report, co_await machine_.result(until));
    co_await leave_out_ours(report);
    std::optional<HostReport> disks = co_await disks_.result(probe ? until + probing(*now->settings) : until);
    if (disks) report.disks = std::move(disks->disks);
    co_return report;
  }

  /// How long the probes of all disks may take.
  [[nodiscard]] milliseconds probing(const Settings& settings) const {
    return options_.probe_limit * static_cast<int>(2 + 2 * settings.profiles.size());
  }

  Task<void> ask_docker(HostReport& report) {
    auto asked = with_deadline(containers_.info(), options_.limit, "Docker");
    const Result<DockerInfo> info = co_await std::move(asked);
    report.docker = info ? Result<DockerFacts>(facts_of(*info)) : fail(info.error());
  }

  /// Engines of k3d, of other instances too, are told by their containers' labels.
  Task<void> leave_out_ours(HostReport& report) {
    if (!report.servers || report.servers->empty()) co_return;
    std::set<std::string> ours;
    for (const char* label : {"k3d.instance", "k3d.help"}) {
      auto asked = with_deadline(containers_.list(label), options_.limit, "Docker");
      const auto listed = co_await std::move(asked);
      if (!listed) {
        report.servers = unknown("Docker can't be asked which llama-servers are k3d's");
        co_return;
      }
      for (const ContainerInfo& container : *listed) ours.insert(container.id.value);
    }
    std::erase_if(*report.servers, [&ours](const ForeignServer& server) { return ours.contains(server.container); });
  }

  GpuInspector& gpus_;
  Containers& containers_;
  SurveyOptions options_;
  SurveyThread machine_, disks_;
  bool taken_ = false;
  asio::steady_timer over_;
  std::optional<HostReport> last_;
  SteadyTime taken_at_{};
};

}  // namespace

std::unique_ptr<HostSurvey> host_survey(Executor loop, GpuInspector& gpus, Containers& containers, SurveyOptions options) {
  return std::make_unique<Survey>(loop, gpus, containers, std::move(options));
}

}  // namespace k3d::adapters
