// A small HTTP server on a unix socket for tests of k3ctl: scripted answers, one thread a connection.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "api/k3ctl/run.hpp"

namespace k3d::cli::testing_support {

struct Asked {
  std::string method, target, body, head;
  /// "GET /api/v1/status"
  [[nodiscard]] std::string line() const { return method + " " + target; }
};

/// A whole response. `type` problem answers use application/problem+json.
std::string reply(unsigned status, const std::string& body, const std::string& type = "application/json");
/// A response that says it has more bytes than come.
std::string broken_reply(const std::string& body);

class FakeDaemon {
 public:
  /// An empty answer closes the connection without one. Called on the connection's thread.
  using Script = std::function<std::string(const Asked&)>;

  explicit FakeDaemon(Script script);
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;
  ~FakeDaemon();

  [[nodiscard]] std::string url() const { return "unix:" + path_.string(); }
  [[nodiscard]] std::vector<Asked> asked() const;

 private:
  void accept_loop();
  void serve(int fd);

  Script script_;
  std::filesystem::path folder_, path_;
  int listener_ = -1;
  mutable std::mutex mutex_;
  std::vector<Asked> asked_;
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

struct Outcome {
  int status = -1;
  std::string out, err;
};

/// Runs k3ctl within this process. `patience` bounds how long it looks for a daemon that went away.
Outcome k3ctl(const std::string& url, std::vector<std::string> args, Terminal terminal = {},
              milliseconds patience = milliseconds(0), const std::string& input = "");

}  // namespace k3d::cli::testing_support
