#include "daemon/lifecycle/devices.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace k3d::lifecycle {
namespace {

constexpr const char* kKind = "nvidia.com/gpu=";

bool knows(const DockerInfo& docker, const std::string& device) {
  return std::find(docker.cdi_devices.begin(), docker.cdi_devices.end(), device) != docker.cdi_devices.end();
}

std::optional<std::size_t> index_of(const std::string& text) {
  std::size_t index = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

std::unexpected<Error> unknown_device(const std::string& gpu, const DockerInfo& docker) {
  std::string known;
  for (const std::string& device : docker.cdi_devices) known += (known.empty() ? "" : ", ") + device;
  return fail(Code::start_refused, "Docker knows no CDI device for GPU " + gpu,
              known.empty() ? "write the CDI specification: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
                            : "it knows: " + known);
}

/// The names one entry may have, the better one first.
std::vector<std::string> candidates(const std::string& gpu, const std::vector<std::string>& uuids) {
  if (const auto index = index_of(gpu)) {
    std::vector<std::string> names;
    if (*index < uuids.size()) names.push_back(kKind + uuids[*index]);
    names.push_back(kKind + gpu);
    return names;
  }
  std::vector<std::string> names{kKind + gpu};
  const auto found = std::find(uuids.begin(), uuids.end(), gpu);
  if (found != uuids.end()) names.push_back(kKind + std::to_string(found - uuids.begin()));
  return names;
}

Result<std::string> choose(const std::string& gpu, const DockerInfo& docker, const std::vector<std::string>& uuids) {
  const std::vector<std::string> names = candidates(gpu, uuids);
  // An Engine that doesn't list its devices (API below 1.50) is asked by the name as written; it answers at start.
  if (!docker.cdi_devices_known) return kKind + gpu;
  for (const std::string& name : names) {
    if (knows(docker, name)) return name;
  }
  return unknown_device(gpu, docker);
}

}  // namespace

Result<std::vector<std::string>> cdi_devices(const Gpus& gpus, const DockerInfo& docker,
                                             const std::vector<std::string>& uuids) {
  std::vector<std::string> devices;
  if (gpus.choice == GpuChoice::none) return devices;
  if (!docker.cdi) {
    return fail(Code::start_refused, "Docker " + docker.version + " does not take CDI devices",
                "use Docker 28, or 25 to 27 with {\"features\": {\"cdi\": true}} in /etc/docker/daemon.json; "
                "or gpus: none for a CPU engine");
  }
  std::vector<std::string> wanted = gpus.listed;
  if (gpus.choice == GpuChoice::all) {
    const bool by_uuid = !uuids.empty() && std::all_of(uuids.begin(), uuids.end(), [&docker](const std::string& uuid) {
      return knows(docker, kKind + uuid);
    });
    if (!by_uuid) wanted = {"all"};
    if (by_uuid) wanted = uuids;
  }
  for (const std::string& gpu : wanted) {
    Result<std::string> device = choose(gpu, docker, uuids);
    if (!device) return fail(device.error());
    devices.push_back(std::move(*device));
  }
  return devices;
}

}  // namespace k3d::lifecycle
