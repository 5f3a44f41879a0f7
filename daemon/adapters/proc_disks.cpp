#include "daemon/adapters/proc_disks.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>

#include "daemon/adapters/proc_text.hpp"

namespace k3d::adapters {
namespace {

namespace fs = std::filesystem;

constexpr std::array kShared{"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "beegfs", "9p", "virtiofs", "afs"};

struct Mount {
  std::string device;  ///< "259:2"
  std::string point, type, source;
};

/// The kernel writes a space as \040, and so on.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && text.find_first_not_of("01234567", i + 1) > i + 3;
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
    i += 3;
  }
  return out;
}

/// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw"
Mount mount_of(const std::string& line) {
  Mount mount;
  std::istringstream words(line);
  std::string id, parent, inner, word;
  words >> id >> parent >> mount.device >> inner >> mount.point;
  while (words >> word && word != "-") {}
  words >> mount.type >> mount.source;
  mount.point = unescaped(mount.point);
  return mount;
}

bool below(const std::string& path, const std::string& point) {
  if (point == "/") return path.starts_with('/');
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

/// The mount that `folder` is in: the deepest, and of those the newest.
std::optional<Mount> mount_under(const std::string& mountinfo, const fs::path& folder) {
  std::error_code ec;
  const fs::path real = fs::canonical(folder, ec);
  const std::string path = ec ? folder.string() : real.string();
  std::optional<Mount> found;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    Mount mount = mount_of(line);
    if (!below(path, mount.point)) continue;
    if (!found || mount.point.size() >= found->point.size()) found = std::move(mount);
  }
  return found;
}

Known<DiskKind> kind_of_device(const fs::path& device, int depth);

/// An NVMe disk may be at the other end of a network.
Known<DiskKind> kind_of_nvme(const fs::path& device) {
  std::string transport = proc_text(device / "device/transport");
  std::error_code ec;
  // With several paths to a disk they stand below the subsystem.
  for (fs::directory_iterator at(device / "device", ec), end; transport.empty() && !ec && at != end; at.increment(ec)) {
    if (at->path().filename().string().starts_with("nvme")) transport = proc_text(at->path() / "transport");
  }
  if (transport.empty()) return unknown("/sys does not tell how the NVMe disk is connected");
  return trimmed(transport) == "pcie" ? DiskKind::local_nvme : DiskKind::network;
}

/// Of what lies below a RAID or a mapped volume the slowest kind, and unknown if any is.
Known<DiskKind> kind_of_parts(const fs::path& folder, int depth) {
  Known<DiskKind> slowest = unknown("/sys does not tell what lies below the volume");
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    const fs::path part = fs::canonical(at->path(), ec);
    if (ec) return unknown("/sys does not tell what lies below the volume");
    const Known<DiskKind> kind = kind_of_device(part, depth + 1);
    if (!kind) return kind;
    if (!slowest || *kind > *slowest) slowest = kind;
  }
  return slowest;
}

/// `device` is a folder of /sys/devices.
Known<DiskKind> kind_of_device(const fs::path& device, int depth) {
  constexpr int kDeepest = 8;
  std::error_code ec;
  if (depth > kDeepest) return unknown("the volumes are nested too deep");
  if (fs::exists(device / "partition", ec)) return kind_of_device(device.parent_path(), depth + 1);
  const std::string name = device.filename().string();
  if (name.starts_with("nvme")) return kind_of_nvme(device);
  if (name.starts_with("dm-") || name.starts_with("md")) return kind_of_parts(device / "slaves", depth);
  if (name.starts_with("vd") || name.starts_with("xvd")) return DiskKind::virtual_disk;
  if (name.starts_with("nbd") || name.starts_with("rbd") || name.starts_with("drbd")) return DiskKind::network;
  if (!name.starts_with("sd") && !name.starts_with("mmcblk")) return unknown("a disk of an unknown kind, " + name);
  const Known<std::string> rotating = known_text(device / "queue/rotational");
  if (!rotating) return unknown(rotating.error());
  return trimmed(*rotating) == "1" ? DiskKind::rotating : DiskKind::ssd;
}

/// The nearest folder at or above `path` that exists. What is closed to us counts as existing.
fs::path nearest(fs::path path) {
  struct stat status{};
  while (::stat(path.c_str(), &status) != 0 && errno != EACCES && path.has_relative_path()) path = path.parent_path();
  return path;
}

DiskFacts read_disk(const fs::path& root, const std::string& mountinfo, DiskUse use, const fs::path& folder) {
  DiskFacts disk;
  disk.use = use;
  disk.path = folder;
  disk.there = nearest(folder);
  disk.readable = ::access(disk.there.c_str(), R_OK | X_OK) == 0;
  disk.writable = ::access(disk.there.c_str(), W_OK | X_OK) == 0;
  struct statvfs space{};
  if (::statvfs(disk.there.c_str(), &space) == 0) {
    disk.total_bytes = Bytes{space.f_blocks} * space.f_frsize;
    disk.free_bytes = Bytes{space.f_bavail} * space.f_frsize;
  }
  if (const auto mount = mount_under(mountinfo, disk.there)) disk.filesystem = mount->type;
  disk.kind = disk_kind(root, mountinfo, disk.there);
  return disk;
}

/// What a cache in Hugging Face's layout has of a repository.
Bytes cached_bytes(const fs::path& cache, std::string repo) {
  for (std::size_t at; (at = repo.find('/')) != std::string::npos;) repo.replace(at, 1, "--");
  Bytes sum = 0;
  std::error_code ec;
  for (fs::directory_iterator at(cache / ("models--" + repo) / "blobs", ec), end; !ec && at != end; at.increment(ec)) {
    std::error_code none;
    const auto size = at->file_size(none);
    if (!none) sum += size;
  }
  return sum;
}

}  // namespace

Known<DiskKind> disk_kind(const fs::path& root, const std::string& mountinfo, const fs::path& folder) {
  const std::optional<Mount> mount = mount_under(mountinfo, folder);
  if (!mount) return unknown("/proc/self/mountinfo does not tell the mount of " + folder.string());
  const std::string& type = mount->type;
  if (std::find(kShared.begin(), kShared.end(), type) != kShared.end() || type.starts_with("fuse.")) return DiskKind::network;
  if (type == "tmpfs" || type == "ramfs") return DiskKind::memory;
  // btrfs and others have a number of their own, but name the disk.
  const bool anonymous = mount->device.starts_with("0:");
  if (anonymous && !mount->source.starts_with("/dev/")) return unknown(type + " does not tell its disk");
  std::error_code ec;
  const fs::path link = anonymous ? root / "sys/class/block" / fs::path(mount->source).filename()
                                  : root / "sys/dev/block" / mount->device;
  const fs::path device = fs::canonical(link, ec);
  if (ec) return unknown("/sys does not tell the disk " + mount->source);
  return kind_of_device(device, 0);
}

std::vector<DiskFacts> read_disks(const fs::path& root, const Settings& settings) {
  const std::string mountinfo = proc_text(root / "proc/self/mountinfo");
  std::vector<DiskFacts> disks{read_disk(root, mountinfo, DiskUse::hub_cache, settings.hub.cache)};
  const auto add = [&](DiskUse use, const fs::path& folder) {
    const bool there = std::any_of(disks.begin(), disks.end(), [&](const DiskFacts& disk) { return disk.path == folder; });
    if (!folder.empty() && !there) disks.push_back(read_disk(root, mountinfo, use, folder));
  };
  for (const Profile& profile : settings.profiles) {
    const auto model = settings.models.find(profile.model);
    if (model == settings.models.end()) continue;
    add(DiskUse::model_files, model->second.path.parent_path());
    add(DiskUse::model_files, model->second.local);
  }
  add(DiskUse::state, settings.state);
  for (const auto& [name, model] : settings.models) {
    if (!model.repo.empty()) disks.front().weights_bytes += cached_bytes(settings.hub.cache, model.repo);
  }
  return disks;
}

}  // namespace k3d::adapters
