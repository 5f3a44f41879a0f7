// The disks under the weights and under k3d's state.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "daemon/doctor/checks.hpp"
#include "daemon/doctor/verdict.hpp"

namespace k3d::doctor {
namespace {

/// The smallest quant of Kimi-K3 that serves, UD-IQ2_XXS.
constexpr Bytes kSmallestQuant = 662 * kGiB;
constexpr Bytes kLeastState = kGiB;
/// Below it 802 GiB take over half an hour.
constexpr double kSlow = 0.45e9;
/// Less than that says more of caches than of the disk.
constexpr Bytes kEnoughToJudge = 256 * kMiB;

std::string at(const DiskFacts& disk) { return disk.path.string(); }

std::string_view words_of(DiskKind kind) {
  switch (kind) {
    case DiskKind::local_nvme: return "local NVMe";
    case DiskKind::ssd: return "SSD";
    case DiskKind::rotating: return "a rotating disk";
    case DiskKind::network: return "over a network";
    case DiskKind::memory: return "in memory";
    case DiskKind::virtual_disk: return "a virtual disk";
  }
  return "";
}

/// Of the verdicts on the disks the worst one's rank, and the words of all.
struct Found {
  CheckResult worst = CheckResult::pass;
  std::vector<std::string> words;

  void add(CheckResult result, std::string text) {
    // What can't be judged outweighs what is fine, and yields to what is wrong.
    const auto rank = [](CheckResult r) {
      return r == CheckResult::fail ? 3 : r == CheckResult::warn ? 2 : r == CheckResult::skip ? 1 : 0;
    };
    if (rank(result) > rank(worst)) worst = result;
    words.push_back(std::move(text));
  }

  [[nodiscard]] HostCheck verdict(const Subject& subject, const std::string& fix) const {
    return {subject.code, worst, joined(words, "; "), subject.why, worst == CheckResult::pass ? "" : fix};
  }
};

/// A cache that no profile's model comes from may be anywhere.
bool matters(const HostReport& host, const DiskFacts& disk) { return disk.use != DiskUse::hub_cache || host.hub_wanted; }

HostCheck over_weights(const HostReport& host, const Subject& subject, const std::string& fix,
                       const std::function<void(const DiskFacts&, Found&)>& judge) {
  if (!host.disks) return skipped(subject, host.disks.error());
  Found found;
  for (const DiskFacts& disk : *host.disks) {
    if (disk.use != DiskUse::state && matters(host, disk)) judge(disk, found);
  }
  if (found.words.empty()) return skipped(subject, "no profile has weights on a disk of this host");
  return found.verdict(subject, fix);
}

CheckResult verdict_on(DiskKind kind) {
  if (kind == DiskKind::local_nvme || kind == DiskKind::ssd) return CheckResult::pass;
  return kind == DiskKind::virtual_disk ? CheckResult::skip : CheckResult::warn;
}

void judge_access(const DiskFacts& disk, Found& found) {
  if (disk.there != disk.path) {
    const bool can_be_made = disk.writable;
    const std::string where = at(disk) + " is not there yet, and " + disk.there.string();
    found.add(can_be_made ? CheckResult::pass : CheckResult::warn, where + (can_be_made ? " is writable" : " is closed to k3d"));
  } else if (!disk.readable) {
    found.add(CheckResult::fail, at(disk) + " can't be read by k3d");
  } else if (disk.use != DiskUse::model_files && !disk.writable) {
    found.add(disk.use == DiskUse::state ? CheckResult::fail : CheckResult::warn, at(disk) + " can't be written by k3d");
  } else {
    found.add(CheckResult::pass, at(disk) + (disk.writable ? " is writable" : " is readable"));
  }
}

void judge_free(const DiskFacts& disk, Found& found) {
  if (disk.use == DiskUse::model_files) return;
  if (disk.total_bytes == 0) return found.add(CheckResult::skip, at(disk) + ": its size is closed to k3d");
  const bool state = disk.use == DiskUse::state;
  const bool enough = disk.free_bytes + disk.weights_bytes >= (state ? kLeastState : kSmallestQuant);
  const CheckResult too_little = state && disk.free_bytes < kLeastState / 10 ? CheckResult::fail : CheckResult::warn;
  found.add(enough ? CheckResult::pass : too_little,
            at(disk) + ": " + format_bytes(disk.free_bytes) + " of " + format_bytes(disk.total_bytes) + " free");
}

void judge_speed(const DiskFacts& disk, Found& found) {
  if (!disk.read_speed) return found.add(CheckResult::skip, at(disk) + ": " + disk.read_speed.error());
  const ReadSpeed& speed = *disk.read_speed;
  const double time = static_cast<double>(kSmallestQuant) / std::max(speed.bytes_per_second, 1.0);
  std::string words = fmt::format("{}: {}/s over {}, so {} for {}", at(disk),
                                  format_bytes(static_cast<Bytes>(speed.bytes_per_second)), format_bytes(speed.bytes),
                                  format_duration(seconds(static_cast<std::int64_t>(time))), format_bytes(kSmallestQuant));
  if (speed.bytes < kEnoughToJudge) return found.add(CheckResult::skip, words + "; too little to judge by");
  found.add(speed.bytes_per_second < kSlow ? CheckResult::warn : CheckResult::pass, std::move(words));
}

}  // namespace

HostCheck check_disk_kind(const HostReport& host) {
  constexpr Subject kSubject{"disk_kind", "a load reads every weight once: on anything slower than local NVMe it takes far "
                                          "longer than 10 to 20 minutes"};
  return over_weights(host, kSubject,
                      "keep the weights on local NVMe: hub.cache and the models' paths in the configuration; "
                      "`k3ctl doctor --probe` measures what a disk does",
                      [](const DiskFacts& disk, Found& found) {
                        if (!disk.kind) return found.add(CheckResult::skip, at(disk) + ": " + disk.kind.error());
                        found.add(verdict_on(*disk.kind), at(disk) + ": " + std::string(words_of(*disk.kind)));
                      });
}

HostCheck check_disk_access(const HostReport& host) {
  constexpr Subject kSubject{"disk_access", "the engine runs as k3d's user: what that user can't read can't be served, and "
                                            "what it can't write can't be downloaded"};
  if (!host.disks) return skipped(kSubject, host.disks.error());
  Found found;
  for (const DiskFacts& disk : *host.disks) {
    if (matters(host, disk)) judge_access(disk, found);
  }
  if (found.words.empty()) return skipped(kSubject, "no folder is configured");
  return found.verdict(kSubject, "`chown -R k3d: FOLDER` or a group of k3d's; for a folder elsewhere than /data/hf also "
                                 "`systemctl edit k3d`: ReadWritePaths=FOLDER under [Service]");
}

HostCheck check_disk_free(const HostReport& host) {
  constexpr Subject kSubject{"disk_free", "the smallest quant of Kimi-K3 takes 710.8 GB unless it is here already, and a full "
                                          "disk under the state loses history"};
  if (!host.disks) return skipped(kSubject, host.disks.error());
  Found found;
  for (const DiskFacts& disk : *host.disks) {
    if (matters(host, disk)) judge_free(disk, found);
  }
  if (found.words.empty()) return skipped(kSubject, "no folder is configured");
  return found.verdict(kSubject, "make room, or move hub.cache to a larger disk");
}

HostCheck check_disk_read_speed(const HostReport& host) {
  constexpr Subject kSubject{"disk_read_speed", "a load takes the size of the files over the speed of the disk"};
  return over_weights(host, kSubject, "measure with `k3ctl doctor --probe` while nothing else reads; what stays slow is the "
                                      "disk: move the weights to local NVMe", judge_speed);
}

}  // namespace k3d::doctor
