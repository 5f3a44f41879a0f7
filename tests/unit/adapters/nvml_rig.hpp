// A machine with GPUs that are played: the fake library on the loader's path, its file, and what /proc tells of processes.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "daemon/adapters/nvml.hpp"

namespace k3d::adapters::test {

inline constexpr const char* kHoldAProbe = "--hold-a-probe";
/// Reads until it is killed.
int hold_a_probe();

/// Children that are not reaped, zombies too.
std::set<int> children_of(int pid);
bool has_ended(int pid);  ///< gone or a zombie
/// Descriptors of a process, by number.
std::set<int> descriptors_of(int pid);
/// A field of /proc/PID/status, such as "SigIgn".
std::string status_field(int pid, const std::string& name);

/// False if it did not become so within 20 s.
bool eventually(const std::function<bool()>& so);

class NvmlTest : public testing::Test {
 protected:
  NvmlTest();
  ~NvmlTest() override;

  /// What the driver says from now on.
  void play(const std::string& lines) const;
  /// How often a call was made; only while play() has the line log().
  [[nodiscard]] int calls_of(const std::string& call) const;
  [[nodiscard]] std::string log() const { return "log " + (folder_ / "calls").string() + "\n"; }
  static void use_library(const std::string& folder);
  /// The answer is short, to test what hangs; the rest is long unless a test says so.
  static NvmlOptions options();

  using Gpus = Result<std::vector<GpuState>>;
  Gpus read(GpuProbe& probe);
  /// Reads until `good`, for states that come by themselves.
  Gpus read_until(GpuProbe& probe, const std::function<bool(const Gpus&)>& good);

  asio::io_context loop_;
  std::filesystem::path folder_;
};

}  // namespace k3d::adapters::test
