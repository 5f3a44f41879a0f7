#include "tests/doubles/fake_containers.hpp"

#include <algorithm>

namespace k3d::doubles {
namespace {

using std::chrono::system_clock;

std::unexpected<Error> no_container(const std::string& name) {
  return fail(Code::not_found, "there is no container " + name);
}

bool is_help(const LaunchSpec& spec) {
  return spec.args == std::vector<std::string>{"--help"};
}

}  // namespace

Error memlock_refusal() {
  return {Code::docker_refused, "the container can't be started", "",
          "error setting rlimit type 8: operation not permitted"};
}

class FakeContainers::Log final : public LogStream {
 public:
  Log(FakeContainers& owner, ContainerId id, bool follow) : owner_(owner), id_(std::move(id)), follow_(follow) {}

  Task<Result<std::optional<LogLine>>> next() override {
    for (;;) {
      if (Status there = co_await owner_.arrive("", "logs"); !there) co_return fail(there.error());
      const FakeContainer* container = owner_.find(id_.value);
      if (container == nullptr) co_return std::nullopt;
      if (at_ < container->log.size()) {
        LogLine line;
        line.text = container->log[at_++];
        co_return line;
      }
      if (!follow_ || !container->info.running()) co_return std::nullopt;
      co_await owner_.changes_.wait(SteadyTime::max());
    }
  }
  void close() override { follow_ = false; }

 private:
  FakeContainers& owner_;
  ContainerId id_;
  bool follow_;
  std::size_t at_ = 0;
};

// ---- the script -----------------------------------------------------------------------------------------------------

void FakeContainers::add(ContainerInfo info) {
  info.id = ContainerId(info.name);
  all_.push_back({std::move(info), {}, {}});
}

void FakeContainers::end(const std::string& name, int exit_code, bool oom_killed) {
  FakeContainer* container = find(name);
  if (container == nullptr) return;
  container->info.status = ContainerStatus::exited;
  container->info.pid = 0;
  container->info.exit_code = exit_code;
  container->info.oom_killed = oom_killed;
  container->info.finished_at = system_clock::now();
  wake();
}

void FakeContainers::print(const std::string& name, std::string line) {
  if (FakeContainer* container = find(name)) container->log.push_back(std::move(line));
  wake();
}

FakeContainer* FakeContainers::find(const std::string& name) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&name](const FakeContainer& c) {
    return c.info.name == name || c.info.id.value == name;
  });
  return found == all_.end() ? nullptr : &*found;
}

std::vector<std::string> FakeContainers::names() const {
  std::vector<std::string> names;
  for (const FakeContainer& container : all_) names.push_back(container.info.name);
  return names;
}

std::size_t FakeContainers::running() const {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [](const FakeContainer& c) { return c.info.running(); }));
}

// ---- the port -------------------------------------------------------------------------------------------------------

Task<Status> FakeContainers::arrive(std::string word, std::string about) {
  if (!word.empty()) calls_.push_back(about.empty() ? word : word + " " + about);
  const std::string kind = word.empty() ? about : word.substr(0, word.find(' '));
  if (deaf) co_await asio::this_coro::throw_if_cancelled(false);
  while (hanging.contains(kind)) co_await changes_.wait(SteadyTime::max());
  co_await asio::this_coro::throw_if_cancelled(true);
  if (down) co_return fail(*down);
  co_return Status{};
}

std::string FakeContainers::name_of(const ContainerId& id) {
  const FakeContainer* container = find(id.value);
  return container == nullptr ? id.value : container->info.name;
}

const FakeImage* FakeContainers::image_of(const std::string& tag_or_id) const {
  for (const auto& [tag, image] : images) {
    if (tag == tag_or_id || image.info.id == tag_or_id) return &image;
  }
  return nullptr;
}

Task<Result<DockerInfo>> FakeContainers::info() {
  if (Status there = co_await arrive("", "info"); !there) co_return fail(there.error());
  DockerInfo info;
  info.version = "28.0.0";
  info.api_version = "1.48";
  info.root_dir = "/var/lib/docker";
  info.live_restore = live_restore;
  info.cdi = !cdi_devices.empty();
  info.cdi_devices = cdi_devices;
  info.cdi_devices_known = info.cdi;
  co_return info;
}

Task<Result<ImageInfo>> FakeContainers::image(std::string tag) {
  if (Status there = co_await arrive("image", tag); !there) co_return fail(there.error());
  const FakeImage* found = image_of(tag);
  if (found == nullptr) co_return fail(Code::image_missing, "Docker has no image " + tag);
  co_return found->info;
}

Task<Result<ContainerId>> FakeContainers::create(LaunchSpec spec) {
  if (Status there = co_await arrive("create", spec.name); !there) co_return fail(there.error());
  const FakeImage* image = image_of(spec.image);
  if (image == nullptr) co_return fail(Code::image_missing, "Docker has no image " + spec.image);
  if (find(spec.name) != nullptr) co_return fail(Code::conflict, "the name " + spec.name + " is in use");
  FakeContainer made;
  made.info.id = ContainerId("id-" + spec.name);
  made.info.name = spec.name;
  made.info.image_id = image->info.id;
  made.info.labels = spec.labels;
  made.spec = std::move(spec);
  all_.push_back(std::move(made));
  co_return all_.back().info.id;
}

Task<Status> FakeContainers::start(ContainerId id) {
  if (Status there = co_await arrive("start", name_of(id)); !there) co_return there;
  FakeContainer* container = find(id.value);
  if (container == nullptr) co_return no_container(id.value);
  if (container->info.running()) co_return Status{};
  if (!is_help(container->spec) && !start_errors.empty()) {
    const Error refused = start_errors.front();
    start_errors.pop_front();
    co_return fail(refused);
  }
  container->info.status = ContainerStatus::running;
  container->info.pid = ++next_pid_;
  container->info.started_at = system_clock::now();
  if (is_help(container->spec)) {
    const FakeImage* image = image_of(container->spec.image);
    container->log.push_back(image->help);
    end(id.value, image->help_exit);
  } else if (on_start) {
    on_start(*container);
  }
  wake();
  co_return Status{};
}

Task<Status> FakeContainers::kill(ContainerId id, std::string signal) {
  if (Status there = co_await arrive("kill " + signal, name_of(id)); !there) co_return there;
  const FakeContainer* container = find(id.value);
  if (container == nullptr) co_return no_container(id.value);
  if (!container->info.running()) co_return fail(Code::conflict, "the container does not run");
  if (unstoppable) co_return Status{};
  if (signal == "SIGKILL" || signal == "KILL") {
    end(id.value, 137);
  } else if (deaf_to > 0) {
    --deaf_to;
  } else {
    end(id.value, 143);
  }
  co_return Status{};
}

Task<Status> FakeContainers::stop(ContainerId id, seconds /*grace*/) {
  if (Status there = co_await arrive("stop", name_of(id)); !there) co_return there;
  if (find(id.value) == nullptr) co_return no_container(id.value);
  end(id.value, 143);
  co_return Status{};
}

Task<Result<ContainerInfo>> FakeContainers::wait(ContainerId id) {
  for (;;) {
    if (Status there = co_await arrive("", "wait"); !there) co_return fail(there.error());
    const FakeContainer* container = find(id.value);
    if (container == nullptr) co_return no_container(id.value);
    if (!container->info.running()) co_return container->info;
    co_await changes_.wait(SteadyTime::max());
  }
}

Task<Result<ContainerInfo>> FakeContainers::inspect(ContainerId id) {
  if (Status there = co_await arrive("inspect", name_of(id)); !there) co_return fail(there.error());
  const FakeContainer* container = find(id.value);
  if (container == nullptr) co_return no_container(id.value);
  co_return container->info;
}

Task<Status> FakeContainers::remove(ContainerId id) {
  if (Status there = co_await arrive("remove", name_of(id)); !there) co_return there;
  std::erase_if(all_, [&id](const FakeContainer& c) { return c.info.id == id; });
  wake();
  co_return Status{};
}

Task<Result<std::vector<ContainerInfo>>> FakeContainers::list(std::string label) {
  if (Status there = co_await arrive("list", ""); !there) co_return fail(there.error());
  std::vector<ContainerInfo> found;
  const std::size_t equals = label.find('=');
  for (const FakeContainer& container : all_) {
    const auto has = container.info.labels.find(label.substr(0, equals));
    if (has == container.info.labels.end()) continue;
    // As Docker does: a label without a value stands for any.
    if (equals == std::string::npos || has->second == label.substr(equals + 1)) found.push_back(container.info);
  }
  co_return found;
}

Task<Result<ContainerStats>> FakeContainers::stats(ContainerId id) {
  if (Status there = co_await arrive("", "stats"); !there) co_return fail(there.error());
  if (find(id.value) == nullptr) co_return no_container(id.value);
  co_return ContainerStats{};
}

Task<Result<bool>> FakeContainers::has_file(ContainerId id, std::string path) {
  if (Status there = co_await arrive("", "has_file"); !there) co_return fail(there.error());
  const FakeContainer* container = find(id.value);
  if (container == nullptr) co_return no_container(id.value);
  const FakeImage* image = image_of(container->spec.image);
  co_return image != nullptr && image->has_shell&& path == "/bin/sh";
}

std::unique_ptr<LogStream> FakeContainers::logs(ContainerId id, LogRequest request) {
  return std::make_unique<Log>(*this, std::move(id), request.follow);
}

Task<Result<std::unique_ptr<EventStream>>> FakeContainers::events(std::string /*label*/) {
  co_return fail(Code::not_yet, "this Docker has no events");
}

bool FakeContainers::is_memlock_refusal(const Error& error) const {
  return error.cause.find("rlimit type 8") != std::string::npos;
}

std::string FakeContainers::create_body(const LaunchSpec& spec) const {
  return "{\"Image\":\"" + spec.image + "\"}";
}

}  // namespace k3d::doubles
