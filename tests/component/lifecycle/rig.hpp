// A supervisor on a loop of its own, with doubles of everything outside and a state folder that goes with the test.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>

#include "daemon/base/log.hpp"
#include "daemon/lifecycle/supervisor.hpp"
#include "tests/doubles/fake_containers.hpp"
#include "tests/doubles/fakes.hpp"

namespace k3d::lifecycle {

class Rig : public ::testing::Test {
 protected:
  Rig();
  ~Rig() override;

  /// A supervisor begins; what Docker, the store and the folder hold stays from an earlier one.
  void boot();
  /// It ends.
  void finish(bool stop_engine);
  /// Runs the loop until `condition` holds; false if it didn't within `limit`.
  bool until(const std::function<bool()>& condition, milliseconds limit = milliseconds(10'000));
  bool until(Phase phase) {
    return until([this, phase] { return now()->phase == phase; });
  }
  /// Runs the loop for as long as `duration`, in which nothing should happen.
  void pass(milliseconds duration);

  /// What `ask` answers on the loop: the supervisor is asked nowhere else.
  template <class Ask>
  auto on_loop(Ask ask) {
    std::optional<decltype(ask())> answer;
    asio::post(loop_, [&] { answer.emplace(ask()); });
    until([&answer] { return answer.has_value(); });
    return std::move(*answer);
  }
  /// The same for a task.
  template <class T>
  T await(Task<T> task) {
    std::optional<T> answer;
    asio::co_spawn(loop_, std::move(task), [&answer](const std::exception_ptr& thrown, T value) {
      EXPECT_FALSE(thrown);
      answer.emplace(std::move(value));
    });
    until([&answer] { return answer.has_value(); });
    return std::move(*answer);
  }
  Result<Operation> cancel(const OperationId& id);
  OperationId activate(const std::string& profile, bool restart = false);
  OperationId deactivate(bool force = false);
  /// Asks for it and waits until it serves.
  void serve(const std::string& profile);
  bool until_ended(const OperationId& id);
  [[nodiscard]] Operation operation(const OperationId& id) const;
  [[nodiscard]] SnapshotPtr now() const { return board_.read(); }
  [[nodiscard]] bool has_condition(const std::string& code) const;
  /// The calls since the last time, without those of an image's --help.
  doubles::Calls calls();
  /// The container of an engine that an earlier daemon started, with its labels.
  ContainerInfo engine_container(const std::string& profile, std::uint64_t attempt) const;
  [[nodiscard]] std::filesystem::path folder(std::uint64_t attempt) const;
  /// The engine's words in its log.
  void write_log(std::uint64_t attempt, const std::string& line) const;
  static std::string name(std::uint64_t attempt) { return "k3d-default-" + std::to_string(attempt); }
  std::string container_id(std::uint64_t attempt) { return containers_.find(name(attempt))->info.id.value; }
  doubles::FakeImage& image() { return containers_.images.at("engine:1"); }
  Profile& profile(const std::string& name);

  std::filesystem::path state_;
  doubles::Calls calls_;
  asio::io_context loop_;
  doubles::FakeContainers containers_{calls_};
  doubles::FakeEngineClient engines_{calls_};
  doubles::FakeHost host_;
  doubles::FakeTraffic traffic_{calls_};
  doubles::FakeStore store_;
  doubles::FakeNotifier notifier_;
  doubles::FakeGpus gpus_;
  Pace pace_{milliseconds(20), seconds(60), milliseconds(50), milliseconds(50), seconds(1), milliseconds(300), 0.005};
  Board board_;
  std::shared_ptr<Settings> settings_ = std::make_shared<Settings>();
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace k3d::lifecycle
