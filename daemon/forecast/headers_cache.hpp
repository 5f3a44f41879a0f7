// Models' headers by their files: read once, and again when a file of the set is another one. Blocking, and of one
// thread: the planning executor's.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::forecast {

using HeadersPtr = std::shared_ptr<const planning::ModelHeaders>;

class HeadersCache {
 public:
  /// `files` are all of the set, in order. Errors: those of planning::read_model.
  Result<HeadersPtr> read(const std::vector<std::filesystem::path>& files);
  /// How many sets were read so far.
  [[nodiscard]] std::size_t reads() const { return reads_; }

 private:
  struct Kept {
    std::string stamp;  ///< path, size and time of change of each file
    HeadersPtr headers;
    std::size_t used = 0;
  };
  void make_room();

  std::map<std::filesystem::path, Kept> kept_;  ///< by first file
  std::size_t reads_ = 0, uses_ = 0;
};

}  // namespace k3d::forecast
