#include "tests/unit/api_proxy/rig.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <stdexcept>
#include <thread>

#include "api/proxy/proxy.hpp"
#include "tests/doubles/fakes.hpp"

namespace k3d::test {

struct Rig::Daemon {
  Daemon(const Settings& settings, proxy::Limits limits) : proxy(loop.get_executor(), board, settings, limits) {
    proxy.serve_demands(demand);
  }

  template <class T>
  T run(Task<T> task) {
    return asio::co_spawn(loop, std::move(task), asio::use_future).get();
  }

  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{asio::make_work_guard(loop)};
  Board board;
  doubles::FakeNotifier notifier;
  FakeDemand demand;
  proxy::Proxy proxy;
  std::thread thread;
};

namespace {

Task<void> nothing() {
  co_return;
}

Task<Status> start(proxy::Proxy& proxy, Notifier& notifier, std::vector<PassedSocket> passed) {
  Status started = proxy.start(notifier, passed);
  if (started) proxy.open_after(nothing());
  co_return started;
}

Task<Status> take_up(proxy::Proxy& proxy, Settings settings) {
  co_return proxy.use(settings);
}

Task<bool> all_answered(proxy::Proxy& proxy) {
  co_await proxy.answered();
  co_return true;
}

Task<ProxyView> look(proxy::Proxy& proxy) {
  co_return proxy.view();
}

}  // namespace

Settings two_profiles() {
  Settings settings;
  settings.proxy.listen = {"127.0.0.1:0"};
  Profile batch;
  batch.name = "batch";
  batch.model = "kimi-k3";
  batch.aliases = {"big"};
  Profile fast;
  fast.name = "fast";
  fast.model = "demo";
  fast.aliases = {"small"};
  settings.profiles = {batch, fast};
  return settings;
}

Rig::Rig(FakeEngine::Script script, Settings settings, proxy::Limits limits, std::vector<PassedSocket> passed)
    : settings_(std::move(settings)), engine_(std::move(script)), daemon_(std::make_unique<Daemon>(settings_, limits)) {
  publish(1);
  daemon_->thread = std::thread([this] { daemon_->loop.run(); });
  const Status started = daemon_->run(start(daemon_->proxy, daemon_->notifier, std::move(passed)));
  if (!started) {
    end();
    throw std::runtime_error(started.error().text());
  }
  const std::string listening = view().listen.at(0);
  port_ = static_cast<std::uint16_t>(std::stoul(listening.substr(listening.rfind(':') + 1)));
}

Rig::~Rig() {
  end();
}

void Rig::end() {
  if (!stopped_) stop(seconds(0));
  daemon_->work.reset();
  daemon_->thread.join();
}

FakeDemand& Rig::demand() {
  return daemon_->demand;
}

std::vector<std::string> Rig::notified() const {
  return daemon_->notifier.lines;
}

Reply Rig::ask(const std::string& bytes) const {
  RawClient client = connect();
  client.send(bytes);
  return client.reply(bytes.starts_with("HEAD"));
}

void Rig::publish(std::uint64_t generation, const std::function<void(Snapshot&)>& change) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->generation = generation;
  snapshot->phase = Phase::ready;
  snapshot->active_profile = snapshot->target_profile = "batch";
  snapshot->route = Route{"batch", EngineAddress{engine_.path(), 0, {}}};
  snapshot->settings = std::make_shared<const Settings>(settings_);
  if (change) change(*snapshot);
  daemon_->board.publish(snapshot);
}

bool Rig::drain(std::uint64_t generation, seconds limit) {
  return daemon_->run(daemon_->proxy.drain(generation, limit));
}

void Rig::cut(std::uint64_t generation) {
  daemon_->run(daemon_->proxy.cut(generation));
}

Status Rig::use(const Settings& settings) {
  return daemon_->run(take_up(daemon_->proxy, settings));
}

bool Rig::answered() {
  return daemon_->run(all_answered(daemon_->proxy));
}

void Rig::stop(seconds limit) {
  daemon_->run(daemon_->proxy.stop(limit));
  stopped_ = true;
}

ProxyView Rig::view() {
  return daemon_->run(look(daemon_->proxy));
}

}  // namespace k3d::test
