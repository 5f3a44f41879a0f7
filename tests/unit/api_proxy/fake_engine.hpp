// An engine of the test's own words on a unix socket: each connection runs the test's script on a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace k3d::test {

class EngineConnection {
 public:
  EngineConnection(int fd, int number, std::function<void(const std::string&)> seen)
      : number(number), fd_(fd), seen_(std::move(seen)) {}

  /// The next whole request; false when the other side is gone.
  bool read_request();
  /// Only the head; the body stays unread.
  bool read_head();
  /// The body of the head that was read.
  bool read_body();
  /// The bytes that have come and are not read yet.
  [[nodiscard]] std::size_t waiting() const;
  bool send(std::string_view bytes);
  /// "200", its length and `body`.
  bool answer(std::string_view body, std::string_view lines = {});
  /// True once the other side has closed; false after `limit`.
  bool left(std::chrono::milliseconds limit = std::chrono::milliseconds(8000));
  void close();
  void reset();

  const int number;  ///< 0 for the first connection
  std::string head, body;

 private:
  bool fill();

  int fd_;
  std::function<void(const std::string&)> seen_;
  std::string kept_;
};

class FakeEngine {
 public:
  using Script = std::function<void(EngineConnection&)>;

  explicit FakeEngine(Script script);
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;
  ~FakeEngine();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t requests() const;
  [[nodiscard]] int connections() const { return connections_.load(); }
  [[nodiscard]] std::vector<std::string> heads() const;
  /// The number of connections that are open now.
  [[nodiscard]] int open() const { return open_.load(); }

 private:
  void accept();

  Script script_;
  std::string path_;
  int listener_;
  std::atomic<int> connections_{0};
  std::atomic<int> open_{0};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> heads_;
  std::list<int> fds_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

/// Answers every request with 200 and "ok".
void answer_ok(EngineConnection& connection);

}  // namespace k3d::test
