// The driver and its cards, without what Docker makes of them (cdi_check).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>

#include "daemon/doctor/checks.hpp"
#include "daemon/doctor/gpus.hpp"
#include "daemon/doctor/verdict.hpp"

namespace k3d::doctor {
namespace {

constexpr int kOldestDriver = 570;
constexpr int kBlackwell = 10;  ///< major compute capability from which there is only the open module
/// What the driver and the display of a card may hold without anybody's process.
constexpr Bytes kNobodys = kGiB;
/// Xids that a program brings upon itself; every other number is trouble of the card, its memory or its bus.
constexpr std::array<unsigned, 6> kOfPrograms{13, 31, 43, 45, 68, 69};
constexpr const char* kInstall =
    "install driver 570 or newer with its open kernel module (Ubuntu: `apt install nvidia-driver-570-server-open`; "
    "NVIDIA's repository: `nvidia-open`), then reboot";

std::string which(const GpuFacts& gpu) { return fmt::format("GPU {}", gpu.state.index); }

/// The cards that `says` something about, in its words.
std::string told(const GpuReport& report, const std::function<std::string(const GpuFacts&)>& says) {
  std::vector<std::string> parts;
  for (const GpuFacts& gpu : report.gpus) {
    if (const std::string words = says(gpu); !words.empty()) parts.push_back(which(gpu) + ": " + words);
  }
  return joined(parts, "; ");
}

bool any_card(const GpuReport& report, const std::function<bool(const GpuFacts&)>& so) {
  return std::any_of(report.gpus.begin(), report.gpus.end(), so);
}

int major_of(const std::string& version) {
  int number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

/// "8 x NVIDIA H200, 150.8 GB, compute capability 9.0", a kind after the other.
std::string kinds(const GpuReport& report) {
  std::map<std::string, int> counts;
  for (const GpuFacts& gpu : report.gpus) {
    if (!gpu.trouble.empty()) continue;
    const std::string capability =
        gpu.compute_capability.empty() ? "" : ", compute capability " + gpu.compute_capability;
    ++counts[gpu.state.name + ", " + format_bytes(gpu.state.memory_total_bytes) + capability];
  }
  std::vector<std::string> parts;
  for (const auto& [kind, count] : counts) parts.push_back(fmt::format("{} x {}", count, kind));
  return joined(parts, "; ");
}

std::string words_of(const GpuProcess& process) {
  std::string out = fmt::format("{} (pid {}", process.name.empty() ? "a hidden process" : process.name, process.pid);
  if (process.memory_bytes) out += ", " + format_bytes(*process.memory_bytes);
  if (!process.container.empty()) out += ", container " + process.container.substr(0, 12);
  return out + ")";
}

std::string foreign_holders(const GpuFacts& gpu) {
  std::vector<std::string> parts;
  for (const GpuProcess& process : gpu.state.processes) {
    if (!process.ours) parts.push_back(words_of(process));
  }
  if (gpu.state.processes.empty() && gpu.state.memory_used_bytes > kNobodys) {
    parts.push_back(format_bytes(gpu.state.memory_used_bytes) + " held by no process that the driver names");
  }
  return joined(parts);
}

std::string free_memory(const GpuReport& report) {
  std::vector<std::string> parts;
  for (const GpuFacts& gpu : report.gpus) {
    if (gpu.free_bytes) parts.push_back(fmt::format("{}: {}", gpu.state.index, format_bytes(*gpu.free_bytes)));
  }
  return "free " + joined(parts);
}

bool of_programs(unsigned xid) { return std::find(kOfPrograms.begin(), kOfPrograms.end(), xid) != kOfPrograms.end(); }

std::string xids_of(const GpuFacts& gpu, bool programs) {
  std::vector<std::string> parts;
  for (const unsigned xid : gpu.xids) {
    if (of_programs(xid) == programs) parts.push_back(fmt::format("Xid {}", xid));
  }
  return joined(parts);
}

}  // namespace

std::string no_gpus_to_ask(const HostReport& host) {
  if (!host.gpus) return "the driver does not answer";
  if (!host.gpus->no_driver.empty()) return "there is no driver";
  return host.gpus->gpus.empty() ? "there is no GPU" : "";
}

HostCheck check_gpu_driver(const HostReport& host) {
  constexpr Subject kSubject{"gpu_driver",
                             "without a driver that answers, every profile with gpus other than none is ruled out"};
  if (!host.gpus) {
    const Error& error = host.gpus.error();
    const std::string words = error.cause.empty() ? error.message : error.message + ": " + error.cause;
    return failed(kSubject, words, error.hint.empty() ? "look at `nvidia-smi`" : error.hint);
  }
  if (host.gpus->no_driver.empty()) return passed(kSubject, "answers");
  const std::string none = "none: " + host.gpus->no_driver;
  if (host.gpus_wanted) return failed(kSubject, none, kInstall);
  return warned(kSubject, none, std::string(kInstall) + "; nothing to do if this host has no GPU: no profile asks for one");
}

HostCheck check_gpu_driver_version(const HostReport& host) {
  constexpr Subject kSubject{"gpu_driver_version", "older drivers lack what CUDA 12.8 and Blackwell GPUs need"};
  std::string version = host.gpus && host.gpus->no_driver.empty() ? host.gpus->driver_version : "";
  if (version.empty() && host.module) version = host.module->version;
  if (version.empty()) {
    const std::string reason = no_gpus_to_ask(host);
    return skipped(kSubject, reason.empty() ? "the driver does not tell" : reason);
  }
  if (major_of(version) >= kOldestDriver) return passed(kSubject, version);
  return failed(kSubject, version, kInstall);
}

HostCheck check_gpu_open_module(const HostReport& host) {
  constexpr Subject kSubject{"gpu_open_module",
                             "Blackwell GPUs work with the open kernel module alone, and newer drivers drop the other"};
  if (!host.module) return skipped(kSubject, host.module.error());
  const std::string measured = (host.module->open ? "open, " : "proprietary, ") + host.module->version;
  if (host.module->open) return passed(kSubject, measured);
  const bool needed = host.gpus && any_card(*host.gpus, [](const GpuFacts& gpu) {
    return major_of(gpu.compute_capability) >= kBlackwell;
  });
  return needed ? failed(kSubject, measured, kInstall) : warned(kSubject, measured, kInstall);
}

HostCheck check_gpu_cards(const HostReport& host) {
  constexpr Subject kSubject{"gpu_cards", "a card that is lost takes its layers with it: nothing that uses it can run"};
  if (const std::string reason = no_gpus_to_ask(host); reason == "there is no GPU") {
    const std::string fix = "see whether the cards are on the bus (`lspci -d 10de:`) and `dmesg | grep NVRM`";
    return host.gpus_wanted ? failed(kSubject, "the driver has no card", fix) : warned(kSubject, "the driver has no card", fix);
  } else if (!reason.empty()) {
    return skipped(kSubject, reason);
  }
  const std::string lost = told(*host.gpus, [](const GpuFacts& gpu) { return gpu.trouble; });
  const std::string well = kinds(*host.gpus);
  if (lost.empty()) return passed(kSubject, well);
  return failed(kSubject, lost + (well.empty() ? "" : "; well: " + well),
                "look at `dmesg | grep Xid`; stop what uses the card and reset it (`nvidia-smi --gpu-reset -i INDEX`), else "
                "reboot; a card that is lost again has to be exchanged");
}

HostCheck check_gpu_memory(const HostReport& host) {
  constexpr Subject kSubject{"gpu_memory",
                             "k3d starts only into what is free: what others hold is missing for layers or context"};
  if (const std::string reason = no_gpus_to_ask(host); !reason.empty()) return skipped(kSubject, reason);
  const GpuReport& report = *host.gpus;
  if (!any_card(report, [](const GpuFacts& gpu) { return gpu.free_bytes.has_value(); })) {
    return skipped(kSubject, "the driver does not tell the cards' memory");
  }
  const std::string foreign = told(report, foreign_holders);
  if (foreign.empty()) return passed(kSubject, free_memory(report));
  return warned(kSubject, foreign + "; " + free_memory(report),
                "see whose it is (`ps -o user,pid,etime,args -p PID`, `docker ps`) and have it stopped, or leave those GPUs "
                "out of the profiles (`gpus: [0, 1]`)");
}

HostCheck check_gpu_mig(const HostReport& host) {
  constexpr Subject kSubject{"gpu_mig", "a GPU that is divided (MIG) can't be used as a whole one"};
  if (const std::string reason = no_gpus_to_ask(host); !reason.empty()) return skipped(kSubject, reason);
  if (!any_card(*host.gpus, [](const GpuFacts& gpu) { return gpu.mig.has_value(); })) {
    return skipped(kSubject, "the cards have no MIG");
  }
  const std::string divided = told(*host.gpus, [](const GpuFacts& gpu) { return gpu.mig.value_or(false) ? "on" : ""; });
  if (divided.empty()) return passed(kSubject, "off");
  return failed(kSubject, divided, "`nvidia-smi -i INDEX -mig 0` while nothing uses the card, then make its CDI names anew");
}

HostCheck check_gpu_ecc(const HostReport& host) {
  constexpr Subject kSubject{"gpu_ecc", "memory errors that can't be corrected end the engine or falsify its answers"};
  if (const std::string reason = no_gpus_to_ask(host); !reason.empty()) return skipped(kSubject, reason);
  if (!any_card(*host.gpus, [](const GpuFacts& gpu) { return gpu.ecc.has_value(); })) {
    return skipped(kSubject, "the cards have no ECC");
  }
  const std::string errors = told(*host.gpus, [](const GpuFacts& gpu) {
    const auto count = gpu.uncorrected_errors.value_or(0);
    return count == 0 ? std::string() : fmt::format("{} uncorrected errors", count);
  });
  if (!errors.empty()) {
    return failed(kSubject, errors,
                  "stop what uses the card and reset it (`nvidia-smi --gpu-reset -i INDEX`); if they come again, exchange it");
  }
  const std::string off = told(*host.gpus, [](const GpuFacts& gpu) { return gpu.ecc.value_or(true) ? "" : "off"; });
  if (!off.empty()) return warned(kSubject, off, "`nvidia-smi -i INDEX -e 1`, then reboot");
  const bool untold = any_card(*host.gpus, [](const GpuFacts& gpu) { return gpu.ecc && !gpu.uncorrected_errors; });
  if (untold) return skipped(kSubject, "on, but the driver does not tell the errors");
  return passed(kSubject, "on, no uncorrected errors");
}

HostCheck check_gpu_xid(const HostReport& host) {
  constexpr Subject kSubject{"gpu_xid", "Xids are the driver's reports of trouble with a card, its memory or its bus"};
  const std::string also = "`dmesg | grep Xid` has those from before k3d listened";
  if (const std::string reason = no_gpus_to_ask(host); !reason.empty()) return skipped(kSubject, reason);
  const std::string hard = told(*host.gpus, [](const GpuFacts& gpu) { return xids_of(gpu, false); });
  if (!hard.empty()) {
    return failed(kSubject, hard, "look the numbers up in NVIDIA's list of Xids and at `dmesg | grep Xid`; the card may need a "
                                  "reset, the host a reboot");
  }
  if (!host.gpus->xids_heard) return skipped(kSubject, "the driver does not report them", also);
  const std::string soft = told(*host.gpus, [](const GpuFacts& gpu) { return xids_of(gpu, true); });
  const std::string measured = soft.empty() ? "none since k3d listens" : soft + " since k3d listens, of programs' own making";
  return passed(kSubject, measured);
}

}  // namespace k3d::doctor
