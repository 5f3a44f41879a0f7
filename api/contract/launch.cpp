#include "api/contract/launch.hpp"

#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

/// A field of --mount, which Docker reads as CSV.
std::string mount_field(const std::string& field) {
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string mount_value(const BindMount& mount) {
  std::string out = "type=bind," + mount_field("source=" + mount.source.string()) + "," +
                    mount_field("target=" + mount.target.string());
  if (mount.read_only) out += ",readonly";
  return out;
}

void add(std::vector<std::string>& out, std::string option, std::string value) {
  out.push_back(std::move(option));
  out.push_back(std::move(value));
}

}  // namespace

std::vector<std::string> docker_run(const LaunchSpec& spec) {
  std::vector<std::string> out{"docker", "run", "--detach", "--init", "--read-only"};
  add(out, "--name", spec.name);
  add(out, "--restart", "no");
  add(out, "--cap-drop", "ALL");
  add(out, "--security-opt", "no-new-privileges");
  add(out, "--network", spec.host_network ? "host" : "none");
  if (spec.host_ipc) add(out, "--ipc", "host");
  if (spec.memlock_unlimited) add(out, "--ulimit", "memlock=-1:-1");
  if (!spec.user.empty()) add(out, "--user", spec.user);
  for (const std::string& group : spec.groups) add(out, "--group-add", group);
  for (const std::string& device : spec.cdi_devices) add(out, "--device", device);
  for (const BindMount& mount : spec.mounts) add(out, "--mount", mount_value(mount));
  for (const auto& [key, value] : spec.env) add(out, "--env", key + "=" + value);
  for (const auto& [key, value] : spec.labels) add(out, "--label", key + "=" + value);
  if (!spec.entrypoint.empty()) add(out, "--entrypoint", spec.entrypoint.front());
  out.push_back(spec.image);
  // `docker run` takes one word as entrypoint; the rest of it comes before the arguments.
  for (std::size_t i = 1; i < spec.entrypoint.size(); ++i) out.push_back(spec.entrypoint[i]);
  out.insert(out.end(), spec.args.begin(), spec.args.end());
  return out;
}

Json launch_object(const Launch& launch, const std::vector<std::string>& docker_run) {
  Json out = Json::object();
  out["profile"] = launch.profile;
  out["image"] = text_or_null(launch.container.image);
  out["image_id"] = text_or_null(launch.image_id);
  out["argv"] = Json(launch.argv);
  out["weight_bytes"] = launch.weight_bytes;
  out["docker_run"] = Json(docker_run);
  return out;
}

std::string dry_run_json(const Launch& launch, const std::vector<std::string>& docker_run,
                         const std::optional<double>& load_seconds, std::uint64_t streams_to_drain) {
  Json out = Json::object();
  out["profile"] = launch.profile;
  out["plan"] = nullptr;
  out["load_seconds"] = number_or_null(load_seconds);
  out["streams_to_drain"] = streams_to_drain;
  out["launch"] = launch_object(launch, docker_run);
  return dump_json(out);
}

std::string dry_run_json(const Launch& launch, const std::optional<double>& load_seconds,
                         std::uint64_t streams_to_drain) {
  return dry_run_json(launch, docker_run(launch.container), load_seconds, streams_to_drain);
}

}  // namespace k3d::api
