#include "daemon/forecast/headers_cache.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "daemon/planning/gguf_reader.hpp"

namespace k3d::forecast {
namespace {

/// A set of Kimi-K3 takes about 1 MB.
constexpr std::size_t kMostKept = 32;

std::string stamp_of(const std::vector<std::filesystem::path>& files) {
  std::string stamp;
  for (const std::filesystem::path& file : files) {
    struct stat st{};
    if (::stat(file.c_str(), &st) != 0) return {};
    stamp += fmt::format("{} {} {} {}.{:09}\n", file.string(), st.st_ino, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
  }
  return stamp;
}

}  // namespace

Result<HeadersPtr> HeadersCache::read(const std::vector<std::filesystem::path>& files) {
  const std::string stamp = stamp_of(files);
  const auto known = kept_.find(files.front());
  if (known != kept_.end() && !stamp.empty() && known->second.stamp == stamp) {
    known->second.used = ++uses_;
    return known->second.headers;
  }
  ++reads_;
  Result<planning::ModelHeaders> read = planning::read_model(files.front());
  if (!read) return fail(read.error());
  const auto headers = std::make_shared<const planning::ModelHeaders>(std::move(*read));
  // What was changed meanwhile may be half old and half new.
  if (stamp.empty() || stamp_of(files) != stamp) return headers;
  make_room();
  kept_[files.front()] = Kept{stamp, headers, ++uses_};
  return headers;
}

void HeadersCache::make_room() {
  if (kept_.size() < kMostKept) return;
  kept_.erase(std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.used; }));
}

}  // namespace k3d::forecast
