// What the doctor looks at: facts of this host, each the value or why it is not known, and what it makes of them.
// Not here: the few facts that a launch needs (host_facts), which are read at every start.
#pragma once

#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"
#include "daemon/model/gpu.hpp"

namespace k3d {

/// A fact, or why it is not known. Begins as unknown, so that what nobody looked at never looks fine.
template <class T>
using Known = std::expected<T, std::string>;

[[nodiscard]] inline std::unexpected<std::string> unknown(std::string why = "could not be looked at in time") {
  return std::unexpected<std::string>(std::move(why));
}

/// A GPU, as far as its driver tells. Of one in trouble only the index is sure.
struct GpuFacts {
  GpuState state;
  std::string trouble;  ///< in the driver's words, why it can't be read ("GPU is lost"); empty: it can
  std::optional<Bytes> free_bytes;
  std::string compute_capability;  ///< "9.0"; empty: not told
  std::optional<bool> mig, ecc;    ///< nothing: the card can't, or doesn't tell
  std::optional<std::uint64_t> uncorrected_errors;  ///< of its memory, since the driver was loaded
  std::vector<unsigned> xids;      ///< the driver's error numbers since k3d listens, each once
};

struct GpuReport {
  std::string no_driver;  ///< why this host has none; empty: it has one
  std::string driver_version;
  bool xids_heard = false;  ///< the driver tells of Xids
  std::vector<GpuFacts> gpus;
};

struct DriverModule {
  std::string version;
  bool open = false;  ///< the open kernel module, not the proprietary one
};

struct DockerFacts {
  std::string version, api_version;
  bool cdi = false;
  bool cdi_devices_known = false;  ///< the Engine lists them
  std::vector<std::string> cdi_devices;
  bool live_restore = false;
};

struct CpuFacts {
  std::string model;
  int sockets = 0, cores = 0, threads = 0;
  std::optional<bool> avx512, amx;  ///< nothing: another architecture
};

struct NumaFacts {
  int nodes = 0;  ///< those with memory
  Known<bool> balancing = unknown();
  std::optional<bool> balancing_after_boot;  ///< as files of sysctl or the kernel's command line say; nothing: none does
};

struct MemoryFacts {
  Bytes total_bytes = 0, available_bytes = 0;
  Bytes swap_total_bytes = 0, swap_used_bytes = 0;
  Bytes huge_pages_bytes = 0;  ///< set aside as huge pages, used or not
  Known<int> swappiness = unknown();
};

enum class DiskUse { hub_cache, model_files, state };
enum class DiskKind { local_nvme, ssd, rotating, network, memory, virtual_disk };

constexpr std::string_view to_string(DiskKind kind) {
  switch (kind) {
    case DiskKind::local_nvme: return "local_nvme";
    case DiskKind::ssd: return "ssd";
    case DiskKind::rotating: return "rotating";
    case DiskKind::network: return "network";
    case DiskKind::memory: return "memory";
    case DiskKind::virtual_disk: return "virtual_disk";
  }
  return "";
}

struct ReadSpeed {
  double bytes_per_second = 0;
  Bytes bytes = 0;  ///< read for it
};

/// The disk under a folder that k3d uses.
struct DiskFacts {
  DiskUse use = DiskUse::state;
  std::filesystem::path path;   ///< as configured
  std::filesystem::path there;  ///< itself, or the nearest folder above it that exists
  Bytes total_bytes = 0, free_bytes = 0;  ///< a total of 0: not known
  Bytes weights_bytes = 0;  ///< of a cache: what it has of the configured models
  std::string filesystem;
  Known<DiskKind> kind = unknown();
  bool readable = false, writable = false;  ///< `there`, by k3d
  Known<ReadSpeed> read_speed = unknown("not measured");
};

/// A systemd unit that starts an engine of its own.
struct UnitFacts {
  std::string name;
  bool enabled = false;  ///< starts with the host
  bool running = false;
};

/// A llama-server that no k3d has started.
struct ForeignServer {
  int pid = 0;
  std::string container;  ///< Docker's id; empty: none
};

/// How far Docker may lift the memlock limit of a container.
struct MemlockFacts {
  std::string process;  ///< whose limit it is
  bool unlimited = false;
  bool may_raise = false;  ///< it has CAP_SYS_RESOURCE
};

struct HostReport {
  WallTime taken_at{};
  bool gpus_wanted = false;      ///< some profile asks for GPUs
  bool hub_wanted = false;       ///< some profile's model comes from the hub
  bool tailscale_wanted = false; ///< the proxy listens on auto:PORT
  bool memlock_refused = false;  ///< the last start of an engine could not lift its limit
  Result<GpuReport> gpus = fail(Code::internal, "nobody looked");
  Known<DriverModule> module = unknown();
  Result<DockerFacts> docker = fail(Code::internal, "nobody looked");
  Known<CpuFacts> cpu = unknown();
  Known<NumaFacts> numa = unknown();
  Known<MemoryFacts> memory = unknown();
  Known<MemlockFacts> memlock = unknown();
  Known<std::vector<DiskFacts>> disks = unknown();
  Known<std::vector<UnitFacts>> units = unknown();
  Known<std::vector<ForeignServer>> servers = unknown();
  std::string tailscale_address;  ///< empty: none
  Known<bool> clock_synchronised = unknown();
};

enum class CheckResult { pass, warn, fail, skip };

constexpr std::string_view to_string(CheckResult result) {
  switch (result) {
    case CheckResult::pass: return "pass";
    case CheckResult::warn: return "warn";
    case CheckResult::fail: return "fail";
    case CheckResult::skip: return "skip";
  }
  return "";
}

struct HostCheck {
  std::string code;  ///< begins with what it is about: "gpu_memory"
  CheckResult result = CheckResult::skip;
  std::string measured;  ///< of a skipped one, why
  std::string why;       ///< it matters
  std::string fix;       ///< empty: nothing to do
};

struct HostDiagnosis {
  HostReport facts;
  std::vector<HostCheck> checks;
};

}  // namespace k3d
