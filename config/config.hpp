// The configuration from outside: YAML text in, plain settings or every mistake at once out.
// Only this room knows YAML. It looks at no file that the configuration names and asks no host anything.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::config {

/// One thing that is wrong. Line and column count from 1 (columns in bytes) and show where the value was written.
struct Mistake {
  int line = 1, column = 1;
  std::string path;  ///< such as profiles.batch.slots or control.listen[1]; empty for the document itself
  std::string what;  ///< what is wrong, what is allowed, and the nearest name there is

  friend bool operator==(const Mistake&, const Mistake&) = default;
};

/// `settings` are good only if there are no mistakes. Mistakes are in the order of the file.
struct Decoded {
  Settings settings;
  std::vector<Mistake> mistakes;
};

/// Never throws; `file` is only remembered in the settings.
Decoded decode(std::string_view yaml, const std::filesystem::path& file);

/// Reads at most 1 MiB, refuses a file that others may change (it must belong to root or to this process's user and
/// not be writable by group or others), and decodes. Fails with config_invalid; the message is one line a mistake.
Result<Settings> load(const std::filesystem::path& file);

/// "FILE:LINE:COLUMN: PATH: what".
std::string describe(const std::filesystem::path& file, const Mistake& mistake);

}  // namespace k3d::config
