// A made-up host below a folder: files of /proc, /sys and /etc.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace k3d::adapters::test {

class TreeTest : public testing::Test {
 protected:
  TreeTest() {
    std::string name = (std::filesystem::temp_directory_path() / "k3d-host-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~TreeTest() override {
    std::error_code ec;
    std::filesystem::remove_all(root_, ec);
  }

  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  /// `target` is relative to the folder of `name`.
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::filesystem::create_symlink(target, root_ / name);
  }

  std::filesystem::path root_;
};

}  // namespace k3d::adapters::test
