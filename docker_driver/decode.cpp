#include "docker_driver/decode.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/base/json.hpp"

namespace k3d::docker {
namespace {

Result<Json> object_of(std::string_view body, const char* what) {
  Result<Json> parsed = parse_json(body);
  if (parsed && parsed->is_object()) return parsed;
  return fail(Code::protocol, std::string("Docker's answer isn't ") + what, {},
              parsed ? std::string(body.substr(0, 200)) : parsed.error().text());
}

std::string text_of(const Json& object, std::string_view key) {
  return json_string(object, key).value_or("");
}

std::vector<std::string> texts_of(const Json& array) {
  std::vector<std::string> out;
  if (!array.is_array()) return out;
  for (const Json& item : array) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

std::map<std::string, std::string> text_map_of(const Json& object) {
  std::map<std::string, std::string> out;
  if (!object.is_object()) return out;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) out[key] = value.get<std::string>();
  }
  return out;
}

std::optional<ContainerStatus> status_of(std::string_view text) {
  using enum ContainerStatus;
  static constexpr std::array<std::pair<std::string_view, ContainerStatus>, 7> kNames{{{"created", created},
                                                                                       {"running", running},
                                                                                       {"paused", paused},
                                                                                       {"restarting", restarting},
                                                                                       {"removing", removing},
                                                                                       {"exited", exited},
                                                                                       {"dead", dead}}};
  const auto found =
      std::find_if(kNames.begin(), kNames.end(), [text](const auto& entry) { return entry.first == text; });
  if (found == kNames.end()) return std::nullopt;
  return found->second;
}

std::optional<WallTime> time_of(const Json& object, std::string_view key) {
  const Result<WallTime> time = parse_time(text_of(object, key));
  if (!time) return std::nullopt;
  return *time;
}

Bytes bytes_of(const Json& object, std::string_view key) {
  // Counters of the kernel: above 2^63 too (cgroup v1's "no limit").
  const Json& value = json_member(object, key);
  if (value.is_number_unsigned()) return value.get<Bytes>();
  const std::int64_t number = json_int(object, key).value_or(0);
  return number > 0 ? static_cast<Bytes>(number) : 0;
}

}  // namespace

Result<ContainerInfo> decode_container(std::string_view body) {
  const Result<Json> parsed = object_of(body, "a container");
  if (!parsed) return fail(parsed.error());
  const Json& state = json_member(*parsed, "State");
  const std::optional<ContainerStatus> status = status_of(text_of(state, "Status"));
  ContainerInfo out;
  out.id = ContainerId(text_of(*parsed, "Id"));
  if (!status || out.id.empty()) {
    return fail(Code::protocol, "Docker's answer isn't a container", {}, std::string(body.substr(0, 200)));
  }
  out.status = *status;
  out.name = text_of(*parsed, "Name");
  if (out.name.starts_with('/')) out.name.erase(0, 1);
  out.image_id = text_of(*parsed, "Image");
  out.labels = text_map_of(json_member(json_member(*parsed, "Config"), "Labels"));
  out.pid = static_cast<int>(json_int(state, "Pid").value_or(0));
  out.oom_killed = json_bool(state, "OOMKilled").value_or(false);
  out.error = text_of(state, "Error");
  out.started_at = time_of(state, "StartedAt");
  // After a restart Docker keeps the earlier end; of a container that runs it says nothing.
  if (!out.running()) out.finished_at = time_of(state, "FinishedAt");
  const std::optional<std::int64_t> code = json_int(state, "ExitCode");
  // A container that was never started has exit code 0 too: that is no result.
  const bool ended = !out.running() && (out.status != ContainerStatus::created || code.value_or(0) != 0);
  if (ended && code) out.exit_code = static_cast<int>(*code);
  return out;
}

Result<std::vector<ContainerId>> decode_ids(std::string_view body) {
  const Result<Json> parsed = parse_json(body);
  if (!parsed || !parsed->is_array()) return fail(Code::protocol, "Docker's answer isn't a list of containers");
  std::vector<ContainerId> out;
  for (const Json& item : *parsed) {
    if (std::string id = text_of(item, "Id"); !id.empty()) out.emplace_back(std::move(id));
  }
  return out;
}

Result<ContainerId> decode_created(std::string_view body, std::vector<std::string>& warnings) {
  const Result<Json> parsed = object_of(body, "a created container");
  if (!parsed) return fail(parsed.error());
  warnings = texts_of(json_member(*parsed, "Warnings"));
  ContainerId id(text_of(*parsed, "Id"));
  if (id.empty()) return fail(Code::protocol, "Docker's answer has no container id");
  return id;
}

Result<ImageInfo> decode_image(std::string_view body) {
  const Result<Json> parsed = object_of(body, "an image");
  if (!parsed) return fail(parsed.error());
  ImageInfo out;
  out.id = text_of(*parsed, "Id");
  out.tags = texts_of(json_member(*parsed, "RepoTags"));
  out.entrypoint = texts_of(json_member(json_member(*parsed, "Config"), "Entrypoint"));
  out.size = bytes_of(*parsed, "Size");
  return out;
}

Result<DockerInfo> decode_info(std::string_view info, std::string_view version, const ApiVersion& spoken) {
  const Result<Json> about = object_of(info, "the Engine's facts");
  if (!about) return fail(about.error());
  const Result<Json> release = object_of(version, "the Engine's version");
  if (!release) return fail(release.error());
  DockerInfo out;
  out.version = text_of(*release, "Version");
  out.api_version = spoken.text();
  out.root_dir = text_of(*about, "DockerRootDir");
  out.live_restore = json_bool(*about, "LiveRestoreEnabled").value_or(false);
  out.cdi = !texts_of(json_member(*about, "CDISpecDirs")).empty();
  // Absent before API 1.50, and also then if there is no device: only the version tells these apart.
  out.cdi_devices_known = out.cdi && spoken >= ApiVersion{1, 50};
  const Json& devices = json_member(*about, "DiscoveredDevices");
  if (devices.is_array()) {
    for (const Json& device : devices) {
      if (text_of(device, "Source") == "cdi") out.cdi_devices.push_back(text_of(device, "ID"));
    }
  }
  return out;
}

Result<ContainerStats> decode_stats(std::string_view body) {
  const Result<Json> parsed = object_of(body, "statistics");
  if (!parsed) return fail(parsed.error());
  const Json& memory = json_member(*parsed, "memory_stats");
  // Empty for a container that doesn't run, and where Docker finds no cgroup.
  if (!json_member(memory, "usage").is_number()) {
    return fail(Code::docker_refused, "Docker has no figures of the container's memory");
  }
  const Json& parts = json_member(memory, "stats");
  // As `docker stats` counts: without the file cache that can be dropped (cgroup v1's name, then v2's).
  const Bytes usage = bytes_of(memory, "usage");
  const Bytes v1 = bytes_of(parts, "total_inactive_file");
  const Bytes droppable = v1 != 0 ? v1 : bytes_of(parts, "inactive_file");
  ContainerStats out;
  out.memory_bytes = droppable < usage ? usage - droppable : usage;
  constexpr Bytes kNoLimit = Bytes{1} << 62;
  if (const Bytes limit = bytes_of(memory, "limit"); limit != 0 && limit < kNoLimit) out.memory_limit_bytes = limit;
  return out;
}

Result<ContainerEvent> decode_event(std::string_view line) {
  const Result<Json> parsed = object_of(line, "an event");
  if (!parsed) return fail(parsed.error());
  const Json& actor = json_member(*parsed, "Actor");
  ContainerEvent out;
  out.action = text_of(*parsed, "Action");
  out.id = ContainerId(text_of(actor, "ID"));
  out.attributes = text_map_of(json_member(actor, "Attributes"));
  out.time_nano = json_int(*parsed, "timeNano").value_or(0);
  if (out.action.empty() || out.id.empty()) {
    return fail(Code::protocol, "Docker's answer isn't an event", {}, std::string(line.substr(0, 200)));
  }
  return out;
}

}  // namespace k3d::docker
