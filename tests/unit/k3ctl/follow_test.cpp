// up and down follow their operation: to its end, through a restart of the daemon, and until Ctrl-C.
#include "api/k3ctl/follow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "api/contract/operation.hpp"
#include "api/contract/problem.hpp"
#include "api/contract/status.hpp"
#include "tests/unit/k3ctl/fake_daemon.hpp"

namespace k3d::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::Asked;
using testing_support::FakeDaemon;
using testing_support::k3ctl;
using testing_support::Outcome;
using testing_support::reply;

Operation operation(OperationState state) {
  Operation operation;
  operation.id = OperationId("op1");
  operation.state = state;
  operation.profile = "batch";
  operation.progress.step = "load";
  operation.created_at = *parse_time("2026-11-30T22:37:57Z");
  if (operation.ended()) operation.finished_at = operation.created_at + seconds(200);
  return operation;
}

/// A daemon on which an activation is accepted, runs for `rounds` looks, and then is `end`.
class Activation {
 public:
  Activation(Operation end, int rounds) : end_(std::move(end)), rounds_(rounds) {}

  std::string operator()(const Asked& asked) {
    if (asked.method == "POST") return reply(202, api::operation_json(operation(OperationState::running)));
    if (asked.target.starts_with("/api/v1/operations/op1")) {
      const int look = looks_++;
      if (look >= rounds_) return reply(200, api::operation_json(end_));
      Operation running = operation(OperationState::running);
      running.progress.fraction = look / 10.0;
      return reply(200, api::operation_json(running));
    }
    Snapshot snapshot;
    snapshot.revision = "b-" + std::to_string(revision_++);
    snapshot.last_failure = failure_;
    return reply(200, api::status_json(snapshot));
  }
  std::optional<Failure> failure_;

 private:
  Operation end_;
  int rounds_;
  std::atomic<int> looks_ = 0, revision_ = 0;
};

TEST(Follow, up_ends_with_the_operation) {
  Activation activation(operation(OperationState::succeeded), 4);
  FakeDaemon daemon(std::ref(activation));
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch", "--reason", "test"});
  EXPECT_EQ(outcome.status, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "load    0 %\nload   10 %\nload   20 %\nload   30 %\nbatch is ready after 3 min 20 s\n");
  EXPECT_EQ(daemon.asked()[0].line(), "POST /api/v1/profiles/batch/activate");
  EXPECT_THAT(daemon.asked()[0].body, HasSubstr("\"reason\":\"test\""));
}

TEST(Follow, waits_at_the_daemon_instead_of_asking_again_and_again) {
  Activation activation(operation(OperationState::succeeded), 3);
  FakeDaemon daemon(std::ref(activation));
  k3ctl(daemon.url(), {"up", "batch"});
  std::vector<std::string> targets;
  for (const Asked& asked : daemon.asked()) targets.push_back(asked.target);
  EXPECT_THAT(targets, testing::Contains("/api/v1/status?wait=30&since=b-0"));
  EXPECT_THAT(targets, testing::Contains("/api/v1/status?wait=30&since=b-1"));
}

TEST(Follow, on_a_terminal_one_line_is_drawn_over) {
  Activation activation(operation(OperationState::succeeded), 4);
  FakeDaemon daemon(std::ref(activation));
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch"}, {true, 60});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("\rload  ["));
  EXPECT_THAT(outcome.out, testing::EndsWith("\r\x1b[Kbatch is ready after 3 min 20 s\n"));
}

TEST(Follow, with_json_only_the_last_answer_is_printed) {
  Activation activation(operation(OperationState::succeeded), 2);
  FakeDaemon daemon(std::ref(activation));
  const Outcome outcome = k3ctl(daemon.url(), {"--json", "up", "batch"});
  EXPECT_EQ(outcome.out, api::operation_json(operation(OperationState::succeeded)) + "\n");
}

TEST(Follow, a_failure_is_1_with_reason_advice_rollback_and_the_logs_last_words) {
  Operation failed = operation(OperationState::failed);
  failed.error = OperationError{"cuda_out_of_memory", "The GPU ran out of memory", "device 0", "fewer slots"};
  failed.rolled_back_to = "interactive";
  Activation activation(failed, 1);
  activation.failure_.emplace();
  activation.failure_->operation_id = "op1";
  activation.failure_->attempt = 3;
  activation.failure_->log_excerpt = {"\x1b[31mCUDA error\x1b[0m\x07"};
  FakeDaemon daemon(std::ref(activation));
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch"});
  EXPECT_EQ(outcome.status, kRefused);
  EXPECT_EQ(outcome.err,
            "activate batch failed: The GPU ran out of memory\n"
            "  device 0\n"
            "  -> fewer slots\n"
            "  rolled back: interactive runs again\n"
            "  the engine's last words (more with `k3ctl logs --attempt 3`):\n"
            "  | CUDA error\\x07\n");
}

TEST(Follow, the_failure_of_another_operation_is_no_evidence) {
  Operation cancelled = operation(OperationState::cancelled);
  cancelled.error = OperationError{"superseded", "A newer request took its place", "", ""};
  Activation activation(cancelled, 0);
  activation.failure_.emplace();
  activation.failure_->operation_id = "other";
  activation.failure_->log_excerpt = {"old"};
  FakeDaemon daemon(std::ref(activation));
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch"});
  EXPECT_EQ(outcome.status, kRefused);
  EXPECT_EQ(outcome.err, "activate batch was cancelled: A newer request took its place\n");
}

TEST(Follow, detach_prints_the_id_alone) {
  Activation activation(operation(OperationState::succeeded), 0);
  FakeDaemon daemon(std::ref(activation));
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch", "--detach"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_EQ(outcome.out, "op1\n");
  EXPECT_EQ(daemon.asked().size(), 1u);
}

TEST(Follow, what_runs_already_is_done) {
  for (const std::string& body :
       {std::string("null"), std::string("{}"), api::operation_json(operation(OperationState::succeeded))}) {
    FakeDaemon daemon([body](const Asked&) { return reply(200, body); });
    const Outcome outcome = k3ctl(daemon.url(), {"up", "batch"});
    EXPECT_EQ(outcome.status, kDone);
    EXPECT_EQ(outcome.out, "batch runs already\n");
    EXPECT_EQ(daemon.asked().size(), 1u);
  }
  FakeDaemon idle([](const Asked&) { return reply(200, "null"); });
  EXPECT_EQ(k3ctl(idle.url(), {"down", "--force"}).out, "nothing runs\n");
  EXPECT_EQ(idle.asked()[0].body, R"({"force":true,"reason":null})");
}

TEST(Follow, a_daemon_that_restarts_is_found_again) {
  Activation activation(operation(OperationState::succeeded), 4);
  std::atomic<int> requests = 0;
  FakeDaemon daemon([&activation, &requests](const Asked& asked) {
    const int number = ++requests;
    if (number == 4) return std::string();
    if (number == 5) {
      const Error stopping{Code::shutting_down, "k3d is stopping", "", ""};
      return reply(503, api::problem_json(stopping), std::string(api::kProblemType));
    }
    return activation(asked);
  });
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch"}, {}, milliseconds(60'000));
  EXPECT_EQ(outcome.status, kDone) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("k3d does not answer; trying again"));
}

TEST(Follow, a_daemon_that_stays_away_is_3_and_the_operation_is_named) {
  Activation activation(operation(OperationState::succeeded), 100);
  std::atomic<int> requests = 0;
  FakeDaemon daemon(
      [&activation, &requests](const Asked& asked) { return ++requests > 4 ? std::string() : activation(asked); });
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch"});
  EXPECT_EQ(outcome.status, kUnreachable);
  EXPECT_THAT(outcome.err, HasSubstr("k3ctl ops op1"));
}

TEST(Follow, ctrl_c_leaves_it_running_and_says_so) {
  Activation activation(operation(OperationState::succeeded), 100);
  std::promise<void> over;
  std::shared_future<void> ended = over.get_future().share();
  FakeDaemon daemon([&activation, ended](const Asked& asked) {
    if (asked.target.find("wait=") == std::string::npos) return activation(asked);
    ::kill(::getpid(), SIGINT);
    ended.wait();  // as a daemon does on which nothing happens
    return std::string();
  });
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch"});
  over.set_value();
  EXPECT_EQ(outcome.status, kInterrupted);
  EXPECT_THAT(outcome.err, HasSubstr("It goes on without you."));
  EXPECT_THAT(outcome.err, HasSubstr("k3ctl cancel op1"));
  for (const Asked& asked : daemon.asked()) EXPECT_NE(asked.method, "DELETE");
}

TEST(Follow, down_says_that_it_stopped) {
  Operation done = operation(OperationState::succeeded);
  done.kind = OperationKind::deactivate;
  done.profile = "";
  Activation activation(done, 1);
  FakeDaemon daemon(std::ref(activation));
  const Outcome outcome = k3ctl(daemon.url(), {"down"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, testing::EndsWith("stopped after 3 min 20 s\n"));
}

}  // namespace
}  // namespace k3d::cli
