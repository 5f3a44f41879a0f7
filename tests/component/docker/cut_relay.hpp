// A socket in front of Docker's that breaks connections off: what a restart of dockerd looks like from k3d.
// Owns a thread of its own, so that the loop under test has nothing to do with it.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace k3d::docker::real {

class CutRelay {
 public:
  /// How many bytes of Docker's answer a connection lets through; nothing is cut at kWhole.
  /// `request` is the first line.
  using Budget = std::function<std::size_t(const std::string& request)>;
  static constexpr std::size_t kWhole = static_cast<std::size_t>(-1);

  explicit CutRelay(Budget budget);
  ~CutRelay();
  CutRelay(const CutRelay&) = delete;
  CutRelay& operator=(const CutRelay&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int cuts() const { return cuts_; }

 private:
  void accept_loop();
  void serve(int client);

  Budget budget_;
  std::string path_;
  int listener_ = -1;
  std::atomic<int> cuts_{0};
  std::atomic<bool> ending_{false};
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

}  // namespace k3d::docker::real
