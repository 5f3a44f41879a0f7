// Whether Docker can hand over the GPUs that the driver has: its CDI names against the driver's cards.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "daemon/doctor/checks.hpp"
#include "daemon/doctor/gpus.hpp"
#include "daemon/doctor/verdict.hpp"

namespace k3d::doctor {
namespace {

constexpr Subject kSubject{"gpu_cdi", "containers get GPUs by their CDI names: without them no profile with GPUs starts, and "
                                      "after a driver's update old ones break the start"};
constexpr std::string_view kKind = "nvidia.com/gpu=";
constexpr const char* kWrite =
    "`nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` (nvidia-container-toolkit 1.18 and newer keeps it up to date: "
    "`systemctl enable --now nvidia-cdi-refresh.path`)";

std::string enable_cdi(const std::string& version) {
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major < 25) return "update Docker to 28 or newer";
  if (major < 28) {
    return "add \"features\": {\"cdi\": true} to /etc/docker/daemon.json and restart Docker while no model runs";
  }
  return "Docker has CDI on from version 28: take \"features\": {\"cdi\": false} out of /etc/docker/daemon.json";
}

/// The names without their kind. "all" is no card, and parts of divided cards are none either.
std::set<std::string> card_names(const std::vector<std::string>& devices) {
  std::set<std::string> names;
  for (std::string_view device : devices) {
    if (!device.starts_with(kKind)) continue;
    device.remove_prefix(kKind.size());
    const bool part = device.starts_with("MIG-") || device.find(':') != std::string_view::npos;
    if (device != "all" && !part) names.emplace(device);
  }
  return names;
}

std::set<std::string> names_of(const GpuFacts& gpu) {
  const std::string index = std::to_string(gpu.state.index);
  return {index, "gpu" + index, gpu.state.uuid};
}

HostCheck compare(const GpuReport& report, const std::vector<std::string>& devices) {
  std::set<std::string> unclaimed = card_names(devices);
  const std::size_t named = unclaimed.size();
  std::vector<std::string> missing;
  for (const GpuFacts& gpu : report.gpus) {
    std::size_t found = 0;
    for (const std::string& name : names_of(gpu)) found += unclaimed.erase(name);
    if (found == 0) missing.push_back(fmt::format("GPU {} has no name", gpu.state.index));
  }
  const std::vector<std::string> stale(unclaimed.begin(), unclaimed.end());
  if (!stale.empty()) missing.push_back("no such card: " + joined(stale));
  if (missing.empty()) return passed(kSubject, fmt::format("{} cards under {} names", report.gpus.size(), named));
  return failed(kSubject, joined(missing, "; "), kWrite);
}

}  // namespace

HostCheck check_gpu_cdi(const HostReport& host) {
  if (const std::string reason = no_gpus_to_ask(host); !reason.empty()) return skipped(kSubject, reason);
  if (!host.docker) return skipped(kSubject, "Docker can't be asked");
  if (!host.docker->cdi) {
    return failed(kSubject, "Docker " + host.docker->version + " takes no CDI names", enable_cdi(host.docker->version));
  }
  if (!host.docker->cdi_devices_known) {
    return skipped(kSubject, "Docker tells the names it knows only from API 1.50 on, this one has " + host.docker->api_version,
                   "compare `nvidia-ctk cdi list` with `nvidia-smi -L`");
  }
  return compare(*host.gpus, host.docker->cdi_devices);
}

}  // namespace k3d::doctor
