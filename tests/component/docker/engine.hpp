// What every test here needs: a loop, the driver at the default socket, and containers that go away with the test.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "docker_driver/docker.hpp"

namespace k3d::docker::real {

inline constexpr const char* kImage = "k3d-test-busybox:1";
inline constexpr const char* kSocket = "/var/run/docker.sock";

/// Every line of a log to its end; an error fails the test.
struct ReadLog {
  std::vector<LogLine> lines;
  [[nodiscard]] std::string text() const;  ///< the lines with their newlines
};

class RealEngine : public ::testing::Test {
 protected:
  RealEngine();
  ~RealEngine() override;

  /// The driver at another socket.
  std::unique_ptr<Containers> driver_at(const std::string& socket);

  /// Runs `task` on the loop until it ends. The Engine is real and shared, so a minute or more may be right.
  template <class T>
  T run(Task<T> task, seconds limit = seconds(120)) {
    std::optional<T> out;
    auto boxed = [](Task<T> inner, std::optional<T>& place) -> Task<void> { place.emplace(co_await std::move(inner)); };
    asio::co_spawn(loop_, boxed(std::move(task), out), [](const std::exception_ptr& exception) {
      if (exception) std::rethrow_exception(exception);
    });
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!out && std::chrono::steady_clock::now() < end) {
      loop_.restart();
      loop_.run_one_for(std::chrono::seconds(1));
    }
    if (!out) die("the task didn't end");
    return std::move(*out);
  }

  /// No network, no IPC, no memlock, this test's label; runs `script` in a shell.
  LaunchSpec spec(const std::string& script) const;
  /// Creates it; the container is removed with the test.
  ContainerId create(const LaunchSpec& wanted);
  ContainerId create_and_start(const LaunchSpec& wanted);
  /// Until it ended.
  ContainerInfo wait(const ContainerId& id);
  ReadLog read(const ContainerId& id, const LogRequest& request);
  [[nodiscard]] std::string label() const { return "k3d.test=" + mark_; }

  asio::io_context loop_;
  std::unique_ptr<Containers> docker_;

 private:
  [[noreturn]] static void die(const char* why);

  std::string mark_;
  mutable int number_ = 0;
  std::vector<ContainerId> made_;
};

/// Every line up to the end of the log.
Task<Result<ReadLog>> read_all(LogStream* log);

}  // namespace k3d::docker::real
