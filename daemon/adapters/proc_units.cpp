#include "daemon/adapters/proc_units.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "daemon/adapters/proc_text.hpp"

namespace k3d::adapters {
namespace {

namespace fs = std::filesystem;

/// Where systemd looks, in this order: of one name the first file counts.
constexpr std::array kFolders{"etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system",
                              "usr/lib/systemd/system", "lib/systemd/system"};
constexpr std::array kKnown{"kimi-k3.service", "kimi-k3-interactive.service"};

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) entries.push_back(at->path());
  return entries;
}

bool calls_an_engine(const std::string& unit) {
  std::istringstream lines(unit);
  for (std::string line; std::getline(lines, line);) {
    if (trimmed(line).starts_with("ExecStart") && line.find("llama-server") != std::string::npos) return true;
  }
  return false;
}

bool is_masked(const fs::path& unit) {
  std::error_code ec;
  if (fs::is_symlink(unit, ec) && fs::read_symlink(unit, ec) == "/dev/null") return true;
  return fs::is_empty(unit, ec) && !ec;
}

/// Something of the host wants it at its start.
bool is_enabled(const fs::path& root, const std::string& name) {
  for (const char* folder : {"etc/systemd/system", "run/systemd/system"}) {
    for (const fs::path& entry : entries_of(root / folder)) {
      const auto kind = entry.extension();
      if (kind != ".wants" && kind != ".requires" && kind != ".upholds") continue;
      std::error_code ec;
      if (fs::is_symlink(entry / name, ec) || fs::exists(entry / name, ec)) return true;
    }
  }
  return false;
}

/// systemd takes a unit's cgroup away when it ends.
bool is_running(const fs::path& root, const std::string& name) {
  for (const char* tree : {"sys/fs/cgroup", "sys/fs/cgroup/unified", "sys/fs/cgroup/systemd"}) {
    std::error_code ec;
    if (fs::exists(root / tree / "system.slice" / name / "cgroup.procs", ec)) return true;
  }
  return false;
}

}  // namespace

Known<std::vector<UnitFacts>> read_engine_units(const fs::path& root) {
  std::error_code ec;
  if (!fs::exists(root / "run/systemd/system", ec)) return unknown("systemd does not run this host");
  std::map<std::string, fs::path> units;
  for (const char* folder : kFolders) {
    for (const fs::path& unit : entries_of(root / folder)) {
      if (unit.extension() == ".service") units.try_emplace(unit.filename().string(), unit);
    }
  }
  std::vector<UnitFacts> found;
  for (const auto& [name, path] : units) {
    const bool known = std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
    if (is_masked(path) || (!known && !calls_an_engine(proc_text(path)))) continue;
    found.push_back({name, is_enabled(root, name), is_running(root, name)});
  }
  return found;
}

}  // namespace k3d::adapters
