// The supervisor, the part that looks after things while nothing happens: figures, GPUs, idleness, a new configuration.
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/known_conditions.hpp"
#include "daemon/lifecycle/supervisor.hpp"
#include "daemon/lifecycle/vram.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;

constexpr seconds kFigureInterval{1};

}  // namespace

void Supervisor::publish_figures() {
  if (steady_clock::now() - published_at_ >= kFigureInterval) publish();
}

Task<void> Supervisor::feed_figures() {
  busy_at_ = steady_clock::now();
  while (co_await sleep_for(kFigureInterval)) {
    const ProxyView seen = ports_.traffic.view();
    const ProxyView& shown = snapshot()->proxy;
    if (seen.in_flight != shown.in_flight || seen.queued != shown.queued || seen.listen != shown.listen) {
      publish_figures();
    }
    stop_when_idle(seen);
  }
}

void Supervisor::stop_when_idle(const ProxyView& seen) {
  const auto* ready = std::get_if<state::Ready>(&state_);
  if (ready == nullptr || seen.in_flight > 0 || seen.queued > 0 || seen.admitted != admitted_) {
    admitted_ = seen.admitted;
    busy_at_ = steady_clock::now();
    return;
  }
  const Profile* profile = settings_->find_profile(ready->engine.launch.profile);
  if (profile == nullptr || !profile->idle_stop) return;
  if (steady_clock::now() - std::max(busy_at_, ready_since_) < *profile->idle_stop) return;
  log::info("idle: the engine is stopped", {{"profile", profile->name}, {"seconds", profile->idle_stop->count()}});
  record("k3d", "deactivate", profile->name, "no request for idle_stop_seconds", {}, "accepted");
  apply(event::Idle{ready->engine.launch.attempt});
}

Task<void> Supervisor::feed_gpus() {
  do {
    auto read = co_await ports_.gpus.read();
    if (!read) {
      gpus_.clear();  // old figures would pass for new ones
      set_condition(gpus_unreadable(read.error()));
      continue;
    }
    const Engine* engine = running_engine(state_);
    gpus_ = mark_ours(std::move(*read), engine == nullptr ? std::string() : engine->container.value);
    clear_condition("gpus_unreadable");
    auto foreign = foreign_gpu_processes(gpus_, uuids_of_launch());
    if (foreign) {
      set_condition(std::move(*foreign));
    } else {
      clear_condition("foreign_gpu_processes");
    }
    if (!gpus_.empty()) publish_figures();
  } while (co_await sleep_for(ports_.pace.gpus));
}

std::vector<std::string> Supervisor::uuids_of_launch() const {
  const Engine* engine = running_engine(state_);
  if (engine == nullptr) return {};
  return uuids_of_devices(engine->launch.container.cdi_devices, gpus_);
}

Task<std::vector<std::string>> Supervisor::use(std::shared_ptr<const Settings> settings) {
  settings_ = std::move(settings);
  effects_->use(settings_);
  unfit_.clear();  // by other settings a profile may well start
  publish();
  co_await recall_overrides(settings_);
  publish();
  std::vector<std::string> drifted;
  if (co_await effects_->look_for_drift()) drifted.push_back(target_profile(state_));
  co_return drifted;
}

}  // namespace k3d::lifecycle
