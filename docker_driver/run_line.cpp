#include "docker_driver/run_line.hpp"

#include <algorithm>

#include "docker_driver/create_spec.hpp"

namespace k3d::docker {
namespace {

/// A field of --mount, which Docker reads as CSV.
std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string mount_value(const BindMount& mount) {
  std::string out =
      "type=bind," + csv_field("source=" + mount.source.string()) + "," + csv_field("target=" + mount.target.string());
  if (mount.read_only) out += ",readonly";
  return out;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./:=,@%+").find(c) != std::string_view::npos;
}

std::string shell_quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

std::vector<std::string> docker_run_arguments(const LaunchSpec& spec) {
  std::vector<std::string> out{"docker", "run", "--detach", "--init", "--read-only", "--no-healthcheck"};
  const auto add = [&out](const char* option, std::string value) {
    out.emplace_back(option);
    out.push_back(std::move(value));
  };
  if (!spec.name.empty()) add("--name", spec.name);
  add("--restart", "no");
  add("--network", spec.host_network ? "host" : "none");
  if (spec.host_ipc) add("--ipc", "host");
  add("--cap-drop", "ALL");
  add("--security-opt", "no-new-privileges");
  add("--tmpfs", std::string("/tmp:") + kTmpOptions);
  add("--pids-limit", std::to_string(kPidsLimit));
  add("--stop-timeout", std::to_string(kStopTimeoutSeconds));
  add("--log-driver", "json-file");
  add("--log-opt", std::string("max-size=") + kLogMaxSize);
  add("--log-opt", std::string("max-file=") + kLogMaxFile);
  if (spec.memlock_unlimited) add("--ulimit", "memlock=-1:-1");
  if (!spec.user.empty()) add("--user", spec.user);
  for (const std::string& group : spec.groups) add("--group-add", group);
  for (const std::string& device : spec.cdi_devices) add("--device", device);
  for (const BindMount& mount : spec.mounts) add("--mount", mount_value(mount));
  for (const auto& [key, value] : spec.env) add("--env", key + "=" + value);
  for (const auto& [key, value] : spec.labels) add("--label", key + "=" + value);
  if (!spec.entrypoint.empty()) add("--entrypoint", spec.entrypoint.front());
  out.push_back(spec.image);
  // --entrypoint takes one word; the rest of it comes before the arguments.
  for (std::size_t i = 1; i < spec.entrypoint.size(); ++i) out.push_back(spec.entrypoint[i]);
  out.insert(out.end(), spec.args.begin(), spec.args.end());
  return out;
}

std::string docker_run_line(const LaunchSpec& spec) {
  std::string out;
  for (const std::string& word : docker_run_arguments(spec)) {
    if (!out.empty()) out += ' ';
    out += shell_quoted(word);
  }
  return out;
}

}  // namespace k3d::docker
