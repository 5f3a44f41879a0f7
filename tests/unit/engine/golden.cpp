#include "tests/unit/engine/golden.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "daemon/engine/capabilities.hpp"
#include "daemon/engine/log_reader.hpp"

namespace k3d::engine::test {

std::string golden(const std::string& name) {
  std::ifstream file(std::string(K3D_SOURCE_DIR "/tests/golden/") + name, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> golden_log(const std::string& name) {
  LineSplitter splitter;
  return splitter.feed(golden("engine-logs/" + name + ".log"));
}

EngineCapabilities debian() {
  return parse_help(golden("llama-server-help-debian.txt"));
}
EngineCapabilities older() {
  return parse_help(golden("llama-server-help-older.txt"));
}

}  // namespace k3d::engine::test
