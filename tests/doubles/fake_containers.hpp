// Containers in memory, with scripted failures. Runs nothing: a test ends a container and writes its log itself.
// Of one loop. Every call is added to `calls`, in words such as "start k3d-default-1" or "kill SIGTERM k3d-default-1".
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <set>

#include "daemon/lifecycle/changes.hpp"
#include "daemon/ports/containers.hpp"

namespace k3d::doubles {

using Calls = std::vector<std::string>;

struct FakeImage {
  ImageInfo info;
  std::string help;  ///< what its --help prints
  int help_exit = 0;
  bool has_shell = true;
};

struct FakeContainer {
  ContainerInfo info;
  LaunchSpec spec;
  std::vector<std::string> log;
};

class FakeContainers final : public Containers {
 public:
  explicit FakeContainers(Calls& calls) : calls_(calls) {}

  // ---- the script ---------------------------------------------------------------------------------------------------
  std::map<std::string, FakeImage> images;  ///< by tag
  std::optional<Error> down;                ///< what every call fails with meanwhile
  std::set<std::string> hanging;            ///< words of calls that do not answer: "start", "list", …
  bool deaf = false;                        ///< calls that hang don't notice when they are cancelled
  std::deque<Error> start_errors;           ///< of the next starts of engines
  int deaf_to = 0;                          ///< how many more signals but SIGKILL change nothing
  bool unstoppable = false;                 ///< no signal changes anything, not even SIGKILL
  bool live_restore = true;
  std::optional<WallTime> away;  ///< when a call last found Docker gone
  std::vector<std::string> cdi_devices;  ///< that Docker knows; none: it takes no devices
  std::function<void(FakeContainer&)> on_start;  ///< after a container began to run

  /// Calls that hang look at `hanging` again.
  void wake() { changes_.notify(); }
  /// A container that was there before; its id is its name.
  void add(ContainerInfo info);
  void end(const std::string& name, int exit_code, bool oom_killed = false);
  void print(const std::string& name, std::string line);
  /// Null if there is none; by name or id.
  FakeContainer* find(const std::string& name);
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::size_t running() const;

  // ---- the port -----------------------------------------------------------------------------------------------------
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
  std::unique_ptr<LogStream> logs(ContainerId id, LogRequest request) override;
  Task<Result<std::unique_ptr<EventStream>>> events(std::string label) override;
  bool is_memlock_refusal(const Error& error) const override;
  std::optional<WallTime> away_at() const override { return away; }
  std::string create_body(const LaunchSpec& spec) const override;

 private:
  class Log;
  /// Notes the call, hangs if it should, and answers the error of a Docker that is down.
  Task<Status> arrive(std::string word, std::string about);
  const FakeImage* image_of(const std::string& tag_or_id) const;
  std::string name_of(const ContainerId& id);

  Calls& calls_;
  std::list<FakeContainer> all_;
  lifecycle::Changes changes_;
  int next_pid_ = 1000;
};

/// What dockerd says when it may not lift the limit of locked memory.
Error memlock_refusal();

}  // namespace k3d::doubles
