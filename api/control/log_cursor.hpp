// Reads an engine's log file from a place on, line by line, with bounded memory. The file may grow, be punched with
// holes at its beginning, or start over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "daemon/base/units.hpp"

namespace k3d::api {

class LogCursor {
 public:
  LogCursor() = default;
  /// From the end of the file, or from its beginning.
  LogCursor(std::filesystem::path file, bool at_end);
  /// From the last `lines` lines, found in the last 8 MiB.
  static LogCursor last(std::filesystem::path file, std::size_t lines);

  /// Up to `most` whole new lines; each is at most 64 KiB, what is longer is cut, bytes that aren't UTF-8 are kept.
  std::vector<std::string> next(std::size_t most);

 private:
  void read_more();

  std::filesystem::path file_;
  std::uint64_t offset_ = 0;
  std::string partial_;
  bool skipping_ = false;  ///< inside a line that was cut
};

}  // namespace k3d::api
