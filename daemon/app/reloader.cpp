#include "daemon/app/reloader.hpp"

#include <algorithm>

#include "config/config.hpp"
#include "config/differences.hpp"
#include "config/last_good.hpp"
#include "daemon/base/async/offload.hpp"
#include "daemon/base/log.hpp"

namespace k3d::app {
namespace {

/// What needs a restart stays as the daemon was started with.
Settings without_restart(const Settings& started, Settings fresh) {
  fresh.instance = started.instance;
  fresh.state = started.state;
  fresh.control = started.control;
  fresh.docker = started.docker;
  fresh.proxy.listen = started.proxy.listen;
  return fresh;
}

std::vector<std::string> waiting_for_restart(const Settings& started, const Settings& fresh) {
  std::vector<std::string> names = config::differences(started, fresh);
  std::erase_if(names, [](const std::string& name) { return !config::needs_restart(name); });
  return names;
}

}  // namespace

Reloader::Reloader(Executor loop, std::shared_ptr<const Settings> started, lifecycle::Supervisor& supervisor,
                   proxy::Proxy& proxy, Notifier& notifier)
    : started_(std::move(started)),
      in_force_(started_),
      read_(*started_),
      supervisor_(supervisor),
      proxy_(proxy),
      notifier_(notifier),
      tasks_(std::move(loop)) {}

void Reloader::started(std::string trouble) {
  if (trouble.empty()) {
    tasks_.spawn(keep());
  } else {
    say_invalid(trouble);
  }
}

Task<void> Reloader::keep() {
  auto write = [state = started_->state, file = started_->file] { return config::keep_last_good(state, file); };
  const Status kept = co_await offload(files_, std::move(write));
  if (!kept) log::warning("no copy of the good configuration could be kept", {{"cause", kept.error().text()}});
}

void Reloader::say_invalid(const std::string& trouble) {
  supervisor_.set_condition({"config_invalid", Severity::error, {}, "The configuration is bad",
                             trouble, "mend the file and run `k3ctl reload`; until then the last good one is in force"});
}

Task<Result<ReloadOutcome>> Reloader::reload(std::string asked_by, std::string reason) {
  notifier_.reloading();
  auto read = [file = started_->file] { return config::load(file); };
  Result<Settings> fresh = co_await offload(files_, std::move(read));
  Result<ReloadOutcome> outcome = fresh ? co_await take_up(std::move(*fresh)) : fail(fresh.error());
  notifier_.ready();
  if (outcome) {
    log::info("the configuration was read again", {{"changed", outcome->changed.size()}});
    co_await keep();
  } else {
    say_invalid(outcome.error().text());
  }
  supervisor_.record(std::move(asked_by), "reload", {}, std::move(reason), {},
                     outcome ? "accepted" : std::string(to_string(outcome.error().code)));
  co_return outcome;
}

Task<Result<ReloadOutcome>> Reloader::take_up(Settings fresh) {
  const auto settings = std::make_shared<const Settings>(without_restart(*started_, fresh));
  // The only part that can refuse comes first.
  if (const Status used = proxy_.use(*settings); !used) co_return fail(used.error());
  in_force_ = settings;
  ReloadOutcome outcome;
  outcome.changed = config::differences(read_, fresh);
  outcome.restart_needed = waiting_for_restart(*started_, fresh);
  read_ = std::move(fresh);
  // Whoever sees the new settings sees that they are good.
  supervisor_.clear_condition("config_invalid");
  outcome.drifted_profiles = co_await supervisor_.use(settings);
  co_return outcome;
}

}  // namespace k3d::app
