// Words for the tests of config: a text, and the mistakes that it must have, to the column.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace k3d::config {

/// "LINE:COLUMN: PATH: what" of every mistake.
inline std::vector<std::string> mistakes_of(const std::string& yaml) {
  std::vector<std::string> out;
  for (const Mistake& mistake : decode(yaml, "k3d.yaml").mistakes) {
    out.push_back(describe("k3d.yaml", mistake).substr(std::string("k3d.yaml:").size()));
  }
  return out;
}

/// The settings of a text that must have no mistakes.
inline Settings settings_of(const std::string& yaml) {
  const Decoded decoded = decode(yaml, "k3d.yaml");
  for (const Mistake& mistake : decoded.mistakes) ADD_FAILURE() << describe("k3d.yaml", mistake);
  return decoded.settings;
}

/// A profile `p` of a model `m` on the CPU with `line` as one more key; that key is on line 6, column 5.
inline std::string profile_with(const std::string& line) {
  return "models:\n"
         "  m: {path: /m.gguf}\n"
         "profiles:\n"
         "  p:\n"
         "    model: m\n"
         "    " +
         line + "\n";
}

inline std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace k3d::config
