#include "daemon/forecast/roots.hpp"

#include <algorithm>

#include "daemon/base/shard_name.hpp"

namespace k3d::forecast {
namespace {

namespace fs = std::filesystem;

/// A model in / would open the whole host.
void add(std::vector<fs::path>& roots, const fs::path& folder) {
  if (folder.empty() || folder == folder.root_path() || std::ranges::count(roots, folder) > 0) return;
  roots.push_back(folder);
}

/// As far as it exists, with its links followed.
fs::path real(const fs::path& path) {
  std::error_code ec;
  const fs::path found = fs::weakly_canonical(path, ec);
  return ec ? fs::path() : found;
}

bool is_below(const fs::path& file, const fs::path& folder) {
  if (file.empty() || folder.empty()) return false;
  return std::ranges::mismatch(folder, file).in1 == folder.end();
}

std::vector<fs::path> shards_beside(const fs::path& path) {
  const auto name = parse_shard_name(path.filename().string());
  if (!name) return {path};
  std::vector<fs::path> files;
  for (int number = 1; number <= name->count; ++number) {
    files.push_back(path.parent_path() / shard_name({name->prefix, number, name->count}));
  }
  return files;
}

Error elsewhere(const fs::path& file, const std::vector<fs::path>& roots) {
  std::string allowed;
  for (const fs::path& root : roots) allowed += (allowed.empty() ? "" : ", ") + root.string();
  return {Code::forbidden, file.string() + " is not below a configured folder",
          "allowed are files below " + allowed + "; `k3ctl plan --path FILE --gpus …` reads any file that you may read", {}};
}

}  // namespace

std::vector<fs::path> roots_of(const Settings& settings) {
  std::vector<fs::path> roots;
  add(roots, settings.hub.cache.lexically_normal());
  for (const auto& [name, model] : settings.models) {
    add(roots, model.local.lexically_normal());
    add(roots, model.path.lexically_normal().parent_path());
  }
  return roots;
}

Result<std::vector<fs::path>> files_of_set(const fs::path& path, const Settings& settings) {
  if (!path.is_absolute()) return fail(Code::invalid_request, "\"path\" is not absolute", "begin it with /");
  const std::vector<fs::path> roots = roots_of(settings);
  const std::vector<fs::path> files = shards_beside(path.lexically_normal());
  for (const fs::path& file : files) {
    const fs::path there = real(file);
    const bool allowed = std::ranges::any_of(roots, [&there](const fs::path& root) { return is_below(there, real(root)); });
    if (!allowed) return fail(elsewhere(file, roots));
  }
  return files;
}

}  // namespace k3d::forecast
