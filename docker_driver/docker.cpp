#include "docker_driver/docker.hpp"

#include "daemon/base/async/sleep.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/log.hpp"
#include "docker_driver/api.hpp"
#include "docker_driver/backoff.hpp"
#include "docker_driver/create_spec.hpp"
#include "docker_driver/decode.hpp"
#include "docker_driver/event_stream.hpp"
#include "docker_driver/log_stream.hpp"

namespace k3d::docker {
namespace {

constexpr milliseconds kStartDeadline{30'000};
constexpr milliseconds kKillDeadline{10'000};
constexpr milliseconds kRemoveDeadline{30'000};
constexpr seconds kStopMargin{10};
constexpr Bytes kExitAnswer = 64 * kKiB;

/// Docker's ports: 2375, and 2376 with TLS. Everything else is what http::Endpoint reads.
Result<http::Endpoint> endpoint_of(const DockerSettings& settings) {
  Result<http::Endpoint> endpoint = http::Endpoint::parse(settings.host);
  if (!endpoint) return fail(Code::config_invalid, "docker.host: " + endpoint.error().message, endpoint.error().hint);
  if (!endpoint->unix_path.empty()) return endpoint;
  const bool files = !settings.tls_ca.empty() || !settings.tls_cert.empty() || !settings.tls_key.empty();
  if (files) endpoint->tls = http::Tls{settings.tls_ca.string(), settings.tls_cert.string(), settings.tls_key.string()};
  const std::size_t last_colon = settings.host.rfind(':');
  const bool port_given =
      last_colon > settings.host.find("//") && settings.host.find(']', last_colon) == std::string::npos;
  if (!port_given) endpoint->port = endpoint->tls ? 2376 : 2375;
  return endpoint;
}

Call container_call(const char* method, const ContainerId& id, const std::string& action) {
  Call call;
  call.method = method;
  call.path = "/containers/" + http::url_encode(id.value) + action;
  call.subject = Subject::container;
  call.name = id.value;
  return call;
}

class Docker : public Containers {
 public:
  Docker(Executor executor, Result<http::Endpoint> endpoint)
      : executor_(std::move(executor)), api_(std::make_shared<Api>(std::move(endpoint))) {}

  Task<Result<DockerInfo>> info() override;
  Task<Result<ImageInfo>> image(std::string tag) override;
  Task<Result<ContainerId>> create(LaunchSpec spec) override;
  Task<Status> start(ContainerId id) override;
  Task<Status> kill(ContainerId id, std::string signal) override;
  Task<Status> stop(ContainerId id, seconds grace) override;
  Task<Result<ContainerInfo>> wait(ContainerId id) override;
  Task<Result<ContainerInfo>> inspect(ContainerId id) override;
  Task<Status> remove(ContainerId id) override;
  Task<Result<std::vector<ContainerInfo>>> list(std::string label) override;
  Task<Result<ContainerStats>> stats(ContainerId id) override;
  Task<Result<bool>> has_file(ContainerId id, std::string path) override;

  std::unique_ptr<LogStream> logs(ContainerId id, LogRequest request) override {
    return open_log(executor_, api_, std::move(id), std::move(request));
  }
  Task<Result<std::unique_ptr<EventStream>>> events(std::string label) override {
    return open_events(api_, std::move(label));
  }
  [[nodiscard]] bool is_memlock_refusal(const Error& error) const override { return docker::is_memlock_refusal(error); }
  [[nodiscard]] std::optional<WallTime> away_at() const override { return away_at_; }
  [[nodiscard]] std::string create_body(const LaunchSpec& spec) const override { return docker::create_body(spec); }

 private:
  Task<Status> command(Call call);
  Task<Status> await_exit(ContainerId id);
  Task<Status> await_removal(ContainerId id);

  Executor executor_;
  std::shared_ptr<Api> api_;
  std::optional<WallTime> away_at_;
};

Task<Status> Docker::command(Call call) {
  const Result<http::Response> answer = co_await api_->call(std::move(call));
  if (!answer) co_return fail(answer.error());
  co_return Status{};
}

Task<Result<DockerInfo>> Docker::info() {
  Call about;
  about.path = "/info";
  const Result<http::Response> facts = co_await api_->call(std::move(about));
  if (!facts) co_return fail(facts.error());
  Call release;
  release.path = "/version";
  const Result<http::Response> version = co_await api_->call(std::move(release));
  if (!version) co_return fail(version.error());
  const Result<ApiVersion> spoken = co_await api_->version();
  if (!spoken) co_return fail(spoken.error());
  co_return decode_info(facts->body, version->body, *spoken);
}

Task<Result<ImageInfo>> Docker::image(std::string tag) {
  Call call;
  call.path = "/images/" + http::url_encode(tag) + "/json";
  call.subject = Subject::image;
  call.name = std::move(tag);
  const Result<http::Response> answer = co_await api_->call(std::move(call));
  if (!answer) co_return fail(answer.error());
  co_return decode_image(answer->body);
}

Task<Result<ContainerId>> Docker::create(LaunchSpec spec) {
  Call call;
  call.method = "POST";
  call.path = "/containers/create";
  if (!spec.name.empty()) call.query = "name=" + http::url_encode(spec.name);
  call.body = docker::create_body(spec);
  call.deadline = kStartDeadline;
  call.name = spec.image;
  const Result<http::Response> answer = co_await api_->call(std::move(call));
  if (!answer) {
    Error error = answer.error();
    if (error.code == Code::conflict) error.message = "the container name " + spec.name + " is in use";
    co_return fail(std::move(error));
  }
  std::vector<std::string> warnings;
  Result<ContainerId> id = decode_created(answer->body, warnings);
  for (const std::string& warning : warnings) {
    log::warning("Docker warns about a new container", {{"container", spec.name}, {"warning", warning}});
  }
  co_return id;
}

Task<Status> Docker::start(ContainerId id) {
  Call call = container_call("POST", id, "/start");
  call.deadline = kStartDeadline;
  return command(std::move(call));
}

Task<Status> Docker::kill(ContainerId id, std::string signal) {
  Call call = container_call("POST", id, "/kill");
  call.query = "signal=" + http::url_encode(signal);
  call.deadline = kKillDeadline;
  return command(std::move(call));
}

Task<Status> Docker::stop(ContainerId id, seconds grace) {
  Call call = container_call("POST", id, "/stop");
  call.query = "t=" + std::to_string(grace.count());
  call.deadline = grace + kStopMargin;
  return command(std::move(call));
}

/// Until Docker says that the container ended, or the connection does.
Task<Status> Docker::await_exit(ContainerId id) {
  Call call = container_call("POST", id, "/wait");
  call.query = "condition=not-running";
  auto stream = co_await api_->open(std::move(call));
  if (!stream) co_return fail(stream.error());
  const Result<std::string> answer = co_await (*stream)->read_all(kExitAnswer);
  if (!answer) co_return fail(answer.error());
  co_return Status{};
}

Task<Result<ContainerInfo>> Docker::wait(ContainerId id) {
  Backoff backoff;
  for (;;) {
    const Status ended = co_await await_exit(id);
    if (!ended && ended.error().code == Code::cancelled) co_return fail(ended.error());
    // Whatever the wait said: a restart of dockerd breaks it, and the exit code is only in the container.
    Result<ContainerInfo> info = co_await inspect(id);
    const bool broke = !ended && ended.error().code != Code::not_found;
    if (broke || (!info && is_away(info.error()))) away_at_ = std::chrono::system_clock::now();
    if (info && !info->running()) co_return info;
    if (!info && !is_away(info.error())) co_return info;
    const bool rested = co_await sleep_for(backoff.next());
    if (!rested) co_return fail(Code::cancelled, "waiting for container " + id.value + " was cancelled");
  }
}

Task<Result<ContainerInfo>> Docker::inspect(ContainerId id) {
  Call call = container_call("GET", id, "/json");
  const Result<http::Response> answer = co_await api_->call(std::move(call));
  if (!answer) co_return fail(answer.error());
  co_return decode_container(answer->body);
}

Task<Status> Docker::remove(ContainerId id) {
  Call call = container_call("DELETE", id, "");
  call.query = "force=1&v=1";
  call.deadline = kRemoveDeadline;
  Status removed = co_await command(std::move(call));
  if (removed || removed.error().code == Code::not_found) co_return Status{};
  if (removed.error().code != Code::conflict) co_return removed;
  // "removal of container … is already in progress": someone else's; gone is what the caller wants.
  auto gone = await_removal(id);
  // with_deadline carries values only
  auto boxed = [](Task<Status> task) -> Task<Result<bool>> {
    const Status status = co_await std::move(task);
    if (!status) co_return fail(status.error());
    co_return true;
  };
  auto waiting = boxed(std::move(gone));
  const Result<bool> ended = co_await with_deadline<bool>(std::move(waiting), kRemoveDeadline, "removing " + id.value);
  if (!ended && ended.error().code == Code::timed_out) co_return removed;
  if (!ended) co_return fail(ended.error());
  co_return Status{};
}

Task<Status> Docker::await_removal(ContainerId id) {
  Backoff backoff;
  for (;;) {
    const Result<ContainerInfo> info = co_await inspect(id);
    if (!info && info.error().code == Code::not_found) co_return Status{};
    if (!info) co_return fail(info.error());
    const bool rested = co_await sleep_for(backoff.next());
    if (!rested) co_return fail(Code::cancelled, "removing container " + id.value + " was cancelled");
  }
}

Task<Result<std::vector<ContainerInfo>>> Docker::list(std::string label) {
  Json filters = Json::object();
  filters["label"] = Json(std::vector<std::string>{std::move(label)});
  Call call;
  call.path = "/containers/json";
  call.query = "all=1&filters=" + http::url_encode(dump_json(filters));
  const Result<http::Response> answer = co_await api_->call(std::move(call));
  if (!answer) co_return fail(answer.error());
  const Result<std::vector<ContainerId>> ids = decode_ids(answer->body);
  if (!ids) co_return fail(ids.error());
  std::vector<ContainerInfo> out;
  for (const ContainerId& id : *ids) {
    Result<ContainerInfo> info = co_await inspect(id);
    if (!info && info.error().code == Code::not_found) continue;
    if (!info) co_return fail(info.error());
    out.push_back(std::move(*info));
  }
  co_return out;
}

Task<Result<ContainerStats>> Docker::stats(ContainerId id) {
  Call call = container_call("GET", id, "/stats");
  call.query = "stream=0&one-shot=1";
  const Result<http::Response> answer = co_await api_->call(std::move(call));
  if (!answer) co_return fail(answer.error());
  co_return decode_stats(answer->body);
}

Task<Result<bool>> Docker::has_file(ContainerId id, std::string path) {
  Call call = container_call("HEAD", id, "/archive");
  call.query = "path=" + http::url_encode(path);
  const Status found = co_await command(std::move(call));
  if (found) co_return true;
  if (found.error().code != Code::not_found) co_return fail(found.error());
  // The answer to HEAD has no words: is it the file or the container that isn't there?
  const Result<ContainerInfo> container = co_await inspect(id);
  if (!container) co_return fail(container.error());
  co_return false;
}

}  // namespace

std::unique_ptr<Containers> connect(Executor executor, const DockerSettings& settings) {
  return std::make_unique<Docker>(std::move(executor), endpoint_of(settings));
}

}  // namespace k3d::docker
