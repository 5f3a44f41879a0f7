// A hub's list of files, page by page: from its JSON to files, exact or refused. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/ports/hub.hpp"

namespace k3d::adapters {

struct TreeLimits {
  static constexpr Bytes page = 8 * kMiB;
  static constexpr std::size_t pages = 1000, files = 100'000;
};

class HubTree {
 public:
  explicit HubTree(HubFolder folder) : folder_(std::move(folder)) {}

  /// Error protocol: no list of files, one outside of the folder or by a path that could leave it, twice the same, without
  /// a size, or with two that don't agree; more than the limits.
  Status add_page(std::string_view body);
  std::vector<HubFile> take() { return std::move(files_); }

 private:
  [[nodiscard]] std::unexpected<Error> wrong(const std::string& what) const;

  HubFolder folder_;
  std::vector<HubFile> files_;
  std::set<std::string> paths_;
  std::size_t pages_ = 0;
};

}  // namespace k3d::adapters
