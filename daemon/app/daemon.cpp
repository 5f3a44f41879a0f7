#include "daemon/app/daemon.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "api/contract/operation.hpp"
#include "api/contract/status.hpp"
#include "api/control/control.hpp"
#include "api/http/auth.hpp"
#include "api/http/server.hpp"
#include "api/proxy/proxy.hpp"
#include "config/overrides.hpp"
#include "daemon/adapters/hf_hub.hpp"
#include "daemon/adapters/hf_hub_token.hpp"
#include "daemon/adapters/host_survey.hpp"
#include "daemon/adapters/llama_http.hpp"
#include "daemon/adapters/nvml.hpp"
#include "daemon/adapters/proc_host.hpp"
#include "daemon/adapters/proc_machine.hpp"
#include "daemon/adapters/sqlite_store.hpp"
#include "daemon/adapters/systemd.hpp"
#include "daemon/app/instance_lock.hpp"
#include "daemon/app/reloader.hpp"
#include "daemon/app/tokens.hpp"
#include "daemon/app/version.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/doctor/examine.hpp"
#include "daemon/forecast/forecaster.hpp"
#include "daemon/hub/remote_headers.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/supervisor.hpp"
#include "docker_driver/docker.hpp"
#include "docker_driver/run_line.hpp"

namespace k3d::app {
namespace {

constexpr seconds kControlStopLimit{2};
constexpr seconds kAdoptionLimit{3};

std::uint64_t newest_attempt(const std::filesystem::path& state) {
  const std::vector<std::uint64_t> kept = lifecycle::kept_attempts(state);
  return kept.empty() ? 0 : kept.front();
}

/// Elsewhere than in /proc only where GPUs are played: tests of device requests on machines without a driver.
std::filesystem::path nvidia_folder() {
  const char* folder = std::getenv("K3D_PROC_DRIVER_NVIDIA");
  return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

/// The driver's file of its version stands beside that folder.
adapters::SurveyOptions survey_options() {
  adapters::SurveyOptions options;
  if (const auto gpus = nvidia_folder(); !gpus.empty()) options.driver_version = gpus.parent_path() / "version";
  return options;
}

std::optional<planning::HostRam> ram_now() {
  const Known<MemoryFacts> memory = adapters::read_memory("/");
  return memory ? std::optional(planning::HostRam{memory->total_bytes, memory->available_bytes}) : std::nullopt;
}

adapters::HfHubOptions hub_options(const HubSettings& settings) {
  adapters::HfHubOptions options;
  options.endpoint = settings.endpoint;
  options.transfers.ca_file = settings.ca_file.string();
  options.transfers.connections = settings.connections;
  Result<Secret> token = adapters::hub_token(settings.token_file);
  if (token) {
    options.token = std::move(*token);
  } else {
    log::warning("the hub is asked without a token", {{"cause", token.error().text()}});
  }
  return options;
}

Condition state_trouble(const Error& error) {
  const bool full = error.code == Code::disk_full;
  return {full ? "disk_full" : "state_not_persisted", Severity::error, {},
          full ? "The disk under the state is full" : "The state can't be used", error.text(), error.hint};
}

/// Until the next start: it is history that is lost, and someone should know.
Condition state_lost(const std::filesystem::path& aside) {
  return {"state_lost", Severity::warning, {}, "The state was damaged; k3d began a new one",
          "operations, overrides and the audit trail until now are in " + aside.string() + ", as far as it can be read",
          "check the disk under the state (`dmesg`); what runs is not touched. Gone with the next start of k3d"};
}

/// Everything that lives as long as the daemon, in the order in which it depends on each other.
class Daemon {
 public:
  explicit Daemon(const Settings& settings)
      : settings_(std::make_shared<const Settings>(settings)),
        signals_(loop_),
        hang_ups_(loop_),
        tasks_(loop_.get_executor()),
        host_("/proc", nvidia_folder()),
        notifier_(adapters::systemd_notifier()),
        engines_(adapters::llama_http()),
        gpus_(adapters::nvml(loop_.get_executor())),
        containers_(docker::connect(loop_.get_executor(), settings.docker)),
        survey_(adapters::host_survey(loop_.get_executor(), *gpus_, *containers_, survey_options())),
        store_(open_store()),
        journal_(loop_.get_executor(), *store_, newest_attempt(settings.state)),
        proxy_(loop_.get_executor(), board_, settings),
        supervisor_(loop_.get_executor(),
                    lifecycle::Ports{*containers_, *engines_, host_, proxy_, *notifier_, board_, journal_, *gpus_,
                                     config::with_overrides},
                    settings_,
                    kVersion, api::status_json),
        reloader_(loop_.get_executor(), settings_, supervisor_, proxy_, *notifier_),
        hub_(adapters::hf_hub(hub_options(settings.hub))),
        remote_headers_(loop_.get_executor(), *hub_, settings.state / "headers", settings.hub.connections),
        forecaster_(loop_.get_executor(),
                    forecast::Surroundings{board_, *gpus_, *containers_, ram_now, config::with_overrides,
                                           [this](Profile profile) { return supervisor_.dry_run(std::move(profile)); },
                                           [this](Model model, std::string quant) {
                                             return remote_headers_.read(std::move(model), std::move(quant));
                                           },
                                           [this](Profile profile, std::shared_ptr<const Plan> plan) {
                                             return supervisor_.exact_figures(std::move(profile), std::move(plan));
                                           },
                                           [this](Profile profile) { return supervisor_.plan(std::move(profile)); }}),
        control_{supervisor_, *containers_, docker::docker_run_arguments,
                 [this](std::string asked_by, std::string reason) {
                   return reloader_.reload(std::move(asked_by), std::move(reason));
                 },
                 [this](bool probe_disks) { return diagnose(probe_disks); }, &forecaster_},
        router_(api::control_routes(control_)) {
    if (store_error_) supervisor_.set_condition(state_trouble(*store_error_));
    if (!damaged_.empty()) supervisor_.set_condition(state_lost(damaged_));
  }

  /// `trouble`: what is wrong with the configuration, if this is the kept copy of an earlier one.
  /// Errors: what can't be bound or read; nothing is left running then.
  Status start(std::string trouble) {
    proxy_.serve_demands(supervisor_);
    const std::vector<PassedSocket> passed = adapters::passed_sockets();
    if (Status started = proxy_.start(*notifier_, passed); !started) return started;
    if (Status listening = listen(passed); !listening) return listening;
    proxy_.open_after(known());
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    hang_ups_.add(SIGHUP);
    supervisor_.start();
    reloader_.started(std::move(trouble));
    forecaster_.start();
    tasks_.spawn(await_signals());
    tasks_.spawn(reload_on_hang_up());
    if (const unsigned period = adapters::watchdog_milliseconds(); period > 0) tasks_.spawn(feed_watchdog(milliseconds(period)));
    notifier_->ready();
    log::info("k3d serves", {{"instance", settings_->instance}, {"version", kVersion}, {"pid", ::getpid()}});
    return {};
  }

  void run() { loop_.run(); }

  /// After a failed start: ends what was begun.
  void abandon() {
    tasks_.spawn(shut_down());
    loop_.run();
  }

 private:
  Task<HostDiagnosis> diagnose(bool probe_disks) {
    HostReport facts = co_await survey_->take(supervisor_.snapshot(), probe_disks);
    std::vector<HostCheck> checks = doctor::examine(facts);
    co_return HostDiagnosis{std::move(facts), std::move(checks)};
  }

  std::unique_ptr<Store> open_store() {
    Result<adapters::OpenedStore> opened = adapters::open_sqlite_store(
        settings_->state, adapters::OperationCodec{[](const Operation& operation) { return api::operation_json(operation); },
                                                   [](const std::string& text) { return api::operation_from_json(text); }});
    if (opened) {
      damaged_ = opened->damaged;
      return std::move(opened->store);
    }
    log::error("the state can't be used; k3d serves without it", {{"cause", opened.error().text()}});
    store_error_ = opened.error();
    return adapters::unusable_store(opened.error());
  }

  Status listen(const std::vector<PassedSocket>& passed) {
    Result<Tokens> tokens = load_tokens(settings_->control);
    if (!tokens) {
      log::error("no control token: TCP requests are refused", {{"cause", tokens.error().text()}});
      supervisor_.set_condition({"token_unavailable", Severity::error, {}, "There is no control token",
                                 tokens.error().text(), tokens.error().hint});
      tokens = Tokens{Secret(random_hex(32)), Secret()};
    }
    api::AuthRules rules;
    rules.full_token = tokens->full;
    rules.read_token = tokens->read;
    rules.allowed_hosts = settings_->control.allowed_hosts;
    std::vector<int> sockets;
    for (const PassedSocket& socket : passed) {
      if (!proxy::Listeners::owns(socket)) sockets.push_back(socket.fd);
    }
    server_.emplace(loop_.get_executor(), api::ServerOptions{}, router_, std::move(rules));
    for (const std::string& address : settings_->control.listen) {
      Status added = server_->listen(address, settings_->control.group, sockets);
      if (!added) return added;
    }
    return {};
  }

  /// Until the engine that runs takes requests again, so that whoever came while k3d restarted is answered by it; or
  /// until it is known that none does.
  Task<void> known() {
    const SteadyTime deadline = std::chrono::steady_clock::now() + kAdoptionLimit;
    SnapshotPtr seen = supervisor_.snapshot();
    while (!seen->route && !supervisor_.restored() && std::chrono::steady_clock::now() < deadline) {
      seen = co_await supervisor_.changed(seen->revision, deadline);
    }
  }

  Task<void> await_signals() {
    const auto [ec, number] = co_await signals_.async_wait(tok);
    if (ec) co_return;
    log::info("stopping", {{"signal", number}, {"engine", reloader_.settings().on_exit == OnExit::stop ? "stopped" : "left"}});
    signals_.async_wait([](const boost::system::error_code& failed, int) {
      if (!failed) ::_exit(1);  // what is written is written: nothing of the state is half done
    });
    co_await shut_down();
    signals_.cancel();
  }

  Task<void> reload_on_hang_up() {
    for (;;) {
      const auto [ec, number] = co_await hang_ups_.async_wait(tok);
      if (ec) co_return;
      const auto outcome = co_await reloader_.reload("signal SIGHUP", {});
      if (!outcome) log::error("the configuration stays as it was", {{"cause", outcome.error().text()}});
    }
  }

  Task<void> shut_down() {
    notifier_->stopping();
    hang_ups_.cancel();
    co_await proxy_.stop(reloader_.settings().exit_drain);
    co_await supervisor_.finish(reloader_.settings().on_exit == OnExit::stop);
    if (server_) co_await server_->stop(kControlStopLimit);
    co_await reloader_.join();
    co_await forecaster_.stop();
    co_await remote_headers_.stop();
    stopped_ = true;
    if (watchdog_) watchdog_->cancel();
  }

  Task<void> feed_watchdog(milliseconds period) {
    watchdog_.emplace(loop_);
    for (;;) {
      co_await proxy_.answered();
      if (stopped_) co_return;
      notifier_->watchdog();
      watchdog_->expires_after(period);
      const auto [ec] = co_await watchdog_->async_wait(tok);
      if (ec) co_return;
    }
  }

  std::shared_ptr<const Settings> settings_;
  asio::io_context loop_{1};
  asio::signal_set signals_;
  asio::signal_set hang_ups_;
  TaskGroup tasks_;
  std::optional<Error> store_error_;
  std::filesystem::path damaged_;
  Board board_;
  adapters::ProcHost host_;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<EngineClient> engines_;
  std::unique_ptr<adapters::NvmlProbe> gpus_;
  std::unique_ptr<Containers> containers_;
  std::unique_ptr<HostSurvey> survey_;
  std::unique_ptr<Store> store_;
  lifecycle::Journal journal_;
  proxy::Proxy proxy_;
  lifecycle::Supervisor supervisor_;
  Reloader reloader_;
  std::unique_ptr<Hub> hub_;
  hub::RemoteHeaders remote_headers_;
  forecast::Forecaster forecaster_;
  api::ControlDependencies control_;
  api::Router router_;
  std::optional<api::Server> server_;
  std::optional<asio::steady_timer> watchdog_;
  bool stopped_ = false;
};

int refuse(const Error& error) {
  std::cerr << "k3d: " << error.text() << "\n";
  return 1;
}

}  // namespace

int run_daemon(const Settings& settings, std::string trouble) {
  const Result<InstanceLock> instance = InstanceLock::take_instance(settings.instance);
  if (!instance) return refuse(instance.error());
  // A state that can't be written is a condition of a running daemon; one that another daemon uses is not.
  const Result<InstanceLock> state = InstanceLock::take_state(settings.state);
  if (!state && state.error().code == Code::instance_taken) return refuse(state.error());
  Daemon daemon(settings);
  if (const Status started = daemon.start(std::move(trouble)); !started) {
    daemon.abandon();
    return refuse(started.error());
  }
  daemon.run();
  return 0;
}

}  // namespace k3d::app
