#include "docker_driver/create_spec.hpp"

#include "daemon/base/json.hpp"

namespace k3d::docker {
namespace {

Json mounts_of(const LaunchSpec& spec) {
  // Mounts, not Binds: a colon in a path means nothing here, and a missing source is refused instead of created.
  Json out = Json::array();
  for (const BindMount& mount : spec.mounts) {
    Json entry = Json::object();
    entry["Type"] = "bind";
    entry["Source"] = mount.source.string();
    entry["Target"] = mount.target.string();
    entry["ReadOnly"] = mount.read_only;
    out.push_back(std::move(entry));
  }
  return out;
}

Json memlock_unlimited() {
  Json limit = Json::object();
  limit["Name"] = "memlock";
  limit["Soft"] = -1;
  limit["Hard"] = -1;
  Json out = Json::array();
  out.push_back(std::move(limit));
  return out;
}

Json cdi_request(const std::vector<std::string>& devices) {
  Json request = Json::object();
  request["Driver"] = "cdi";
  request["DeviceIDs"] = Json(devices);
  Json out = Json::array();
  out.push_back(std::move(request));
  return out;
}

Json log_config() {
  Json config = Json::object();
  config["max-size"] = kLogMaxSize;
  config["max-file"] = kLogMaxFile;
  Json out = Json::object();
  out["Type"] = "json-file";
  out["Config"] = std::move(config);
  return out;
}

Json host_config(const LaunchSpec& spec) {
  Json out = Json::object();
  out["NetworkMode"] = spec.host_network ? "host" : "none";
  if (spec.host_ipc) out["IpcMode"] = "host";
  // Without an init the engine is process 1, which ignores SIGTERM while it loads.
  out["Init"] = true;
  // k3d alone restarts.
  out["RestartPolicy"]["Name"] = "no";
  out["AutoRemove"] = false;
  out["ReadonlyRootfs"] = true;
  out["Tmpfs"]["/tmp"] = kTmpOptions;
  out["Mounts"] = mounts_of(spec);
  out["CapDrop"] = Json(std::vector<std::string>{"ALL"});
  out["SecurityOpt"] = Json(std::vector<std::string>{"no-new-privileges"});
  if (!spec.groups.empty()) out["GroupAdd"] = Json(spec.groups);
  out["PidsLimit"] = kPidsLimit;
  if (spec.memlock_unlimited) out["Ulimits"] = memlock_unlimited();
  if (!spec.cdi_devices.empty()) out["DeviceRequests"] = cdi_request(spec.cdi_devices);
  out["LogConfig"] = log_config();
  return out;
}

}  // namespace

std::string create_body(const LaunchSpec& spec) {
  Json out = Json::object();
  out["Image"] = spec.image;
  if (!spec.entrypoint.empty()) out["Entrypoint"] = Json(spec.entrypoint);
  out["Cmd"] = Json(spec.args);
  Json env = Json::array();
  for (const auto& [key, value] : spec.env) env.push_back(key + "=" + value);
  out["Env"] = std::move(env);
  Json labels = Json::object();
  for (const auto& [key, value] : spec.labels) labels[key] = value;
  out["Labels"] = std::move(labels);
  if (!spec.user.empty()) out["User"] = spec.user;
  out["Tty"] = false;
  out["OpenStdin"] = false;
  out["StopTimeout"] = kStopTimeoutSeconds;
  // k3d asks /health itself; an image's own check would run a process in the container every 30 s.
  out["Healthcheck"]["Test"] = Json(std::vector<std::string>{"NONE"});
  out["HostConfig"] = host_config(spec);
  return dump_json(out);
}

}  // namespace k3d::docker
