// What an engine image can do, as its own --help says. Read once per image id and kept.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace k3d {

struct EngineCapabilities {
  std::string image_id;
  bool has_shell = false;
  bool unix_socket = false;             ///< --host takes a PATH.sock
  std::map<std::string, std::vector<std::string>> flags;  ///< every spelling -> all spellings of the same option
  std::map<std::string, std::string> values;  ///< every spelling that takes a value -> what the help calls it
  std::string version;                  ///< as far as known; may be empty

  [[nodiscard]] bool has(const std::string& flag) const { return flags.contains(flag); }
};

}  // namespace k3d
