// Port: containers as k3d needs them. Implemented by docker_driver on the Docker Engine API.
// Every call has a deadline of its own; errors are docker_unavailable, docker_unresponsive, docker_refused
// (with Docker's own words as cause), image_missing, not_found, conflict.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/base/ids.hpp"
#include "daemon/base/result.hpp"
#include "daemon/model/launch.hpp"

namespace k3d {

struct DockerInfo {
  std::string version, api_version;
  std::string root_dir;
  bool cdi = false;                      ///< the Engine takes CDI device requests
  std::vector<std::string> cdi_devices;  ///< "nvidia.com/gpu=0", …; empty also if the Engine doesn't say
  bool cdi_devices_known = false;        ///< the Engine lists them (API 1.50)
  bool live_restore = false;
};

struct ImageInfo {
  std::string id;
  std::vector<std::string> tags, entrypoint;
  Bytes size = 0;
};

enum class ContainerStatus { created, running, paused, restarting, removing, exited, dead };

struct ContainerInfo {
  ContainerId id;
  std::string name, image_id;
  std::map<std::string, std::string> labels;
  ContainerStatus status = ContainerStatus::created;
  int pid = 0;  ///< of the container's first process, 0 if none runs
  std::optional<int> exit_code;
  bool oom_killed = false;
  std::string error;
  std::optional<WallTime> started_at, finished_at;

  [[nodiscard]] bool running() const {
    return status == ContainerStatus::running || status == ContainerStatus::paused ||
           status == ContainerStatus::restarting;
  }
};

struct ContainerStats {
  Bytes memory_bytes = 0;
  std::optional<Bytes> memory_limit_bytes;
};

struct ContainerEvent {
  std::string action;  ///< start, die, oom, kill, destroy, …
  ContainerId id;
  std::map<std::string, std::string> attributes;
  std::int64_t time_nano = 0;
};

struct LogLine {
  std::string text;       ///< without the newline, at most 64 KiB
  bool truncated = false; ///< longer than that; the rest was dropped
  bool is_stderr = false;
  std::string stamp;      ///< Docker's timestamp of the line, for resuming
};

struct LogRequest {
  bool follow = false;
  std::string since;               ///< a stamp: only lines after it
  std::optional<int> tail;
};

class LogStream {
 public:
  virtual ~LogStream() = default;
  /// The next line; nothing at the end of the log (container gone, or not following).
  /// With follow, a connection that breaks off is resumed after the last line, without gap or repeat.
  virtual Task<Result<std::optional<LogLine>>> next() = 0;
  virtual void close() = 0;
};

class EventStream {
 public:
  virtual ~EventStream() = default;
  virtual Task<Result<ContainerEvent>> next() = 0;
  virtual void close() = 0;
};

class Containers {
 public:
  virtual ~Containers() = default;
  virtual Task<Result<DockerInfo>> info() = 0;
  virtual Task<Result<ImageInfo>> image(std::string tag) = 0;
  virtual Task<Result<ContainerId>> create(LaunchSpec spec) = 0;
  virtual Task<Status> start(ContainerId id) = 0;  ///< fine if it runs already
  virtual Task<Status> kill(ContainerId id, std::string signal) = 0;
  virtual Task<Status> stop(ContainerId id, seconds grace) = 0;
  /// Waits until the container doesn't run; no deadline, end it by cancelling the task.
  virtual Task<Result<ContainerInfo>> wait(ContainerId id) = 0;
  virtual Task<Result<ContainerInfo>> inspect(ContainerId id) = 0;
  virtual Task<Status> remove(ContainerId id) = 0;  ///< by force; fine if it is gone
  /// Every container, stopped ones too, that has `label` ("k3d.instance=default", or "k3d.instance" with any value).
  virtual Task<Result<std::vector<ContainerInfo>>> list(std::string label) = 0;
  virtual Task<Result<ContainerStats>> stats(ContainerId id) = 0;
  virtual Task<Result<bool>> has_file(ContainerId id, std::string path) = 0;
  virtual std::unique_ptr<LogStream> logs(ContainerId id, LogRequest request) = 0;
  virtual Task<Result<std::unique_ptr<EventStream>>> events(std::string label) = 0;
  /// Whether `start` failed because this host won't lift the memlock limit: then a start without asking for it works.
  [[nodiscard]] virtual bool is_memlock_refusal(const Error& error) const = 0;
  /// When the Engine was last found to be gone by any call, also one that was tried again since: a restart of the
  /// Engine may be quicker than whoever looks.
  [[nodiscard]] virtual std::optional<WallTime> away_at() const = 0;
  /// The JSON body that `create` would send: for dry runs and tests.
  [[nodiscard]] virtual std::string create_body(const LaunchSpec& spec) const = 0;
};

}  // namespace k3d
