#include "daemon/hub/remote_shard.hpp"

#include <algorithm>

namespace k3d::hub {
namespace {

// A shard of Kimi-K3 has 130 tensors, of 90 bytes each. The first one's 6 MB take three windows.
constexpr Bytes kFirstWindow = 64 * kKiB, kFirstOfMetadata = kMiB, kLargestWindow = 4 * kMiB;

}  // namespace

RemoteShard::RemoteShard(std::string name, Bytes file_bytes, bool holds_metadata)
    : name_(std::move(name)),
      file_bytes_(file_bytes),
      window_(holds_metadata ? kFirstOfMetadata : kFirstWindow),
      parser_(name_, file_bytes) {}

std::optional<RemoteShard::Window> RemoteShard::next() const {
  const auto need = parser_.need();
  if (!need) return std::nullopt;
  return Window{need->offset, std::min(std::max(need->least, window_), file_bytes_ - need->offset)};
}

Status RemoteShard::feed(std::string bytes) {
  const auto window = next();
  head_.resize(window->offset);
  head_ += bytes;
  window_ = std::min(2 * window_, kLargestWindow);
  if (Status fed = parser_.feed(bytes); !fed) return fed;
  if (parser_.need()) return {};
  file_ = parser_.take();
  head_.resize(std::min(head_.size(), file_.info.header_bytes));
  return {};
}

}  // namespace k3d::hub
