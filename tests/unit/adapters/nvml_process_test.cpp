// The life of the GPU process: what hangs is ended, what ends is started again, and nothing is left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "daemon/adapters/child_process.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/async/task_group.hpp"
#include "tests/unit/adapters/nvml_rig.hpp"
#include "tests/unit/docker_driver/loop.hpp"

namespace k3d::adapters {
namespace {

using test::children_of;
using test::descriptors_of;
using test::eventually;
using test::has_ended;
using test::NvmlTest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string kCard = "card 00000000:01:00.0 GPU-a 150000000000 0 0 NVIDIA H200\n";

class NvmlProcess : public NvmlTest {
 protected:
  static NvmlOptions impatient() {
    NvmlOptions out = options();
    out.answer = milliseconds(300);
    return out;
  }

  /// The one child; 0 if there is none.
  static int child() {
    const auto children = children_of(::getpid());
    EXPECT_LE(children.size(), 1u);
    return children.empty() ? 0 : *children.begin();
  }

  /// A probe whose child has answered, so that it counts as hung when it doesn't once.
  std::unique_ptr<GpuProbe> awake(NvmlOptions options) {
    play(kCard);
    auto probe = nvml(loop_.get_executor(), std::move(options));
    read_until(*probe, [](const Gpus& gpus) { return gpus.has_value(); });
    return probe;
  }

  /// Runs all of them at once, to their ends.
  void run_all(std::vector<Task<void>> tasks) {
    TaskGroup group(loop_.get_executor());
    for (Task<void>& task : tasks) group.spawn(std::move(task));
    loop_.restart();
    loop_.run();
  }
};

TEST_F(NvmlProcess, a_call_that_hangs_ends_with_its_process) {
  const auto probe = awake(impatient());
  const auto descriptors = descriptors_of(::getpid());
  const int hung = child();
  play(kCard + "hang nvmlDeviceGetMemoryInfo\n");
  const auto begin = std::chrono::steady_clock::now();
  const Gpus gpus = read(*probe);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, Code::timed_out);
  EXPECT_TRUE(has_ended(hung));
  EXPECT_EQ(child(), 0) << "reaped";
  EXPECT_LT(descriptors_of(::getpid()).size(), descriptors.size());
  play(kCard);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(read(*probe).error().code, Code::timed_out);
  EXPECT_EQ(child(), 0) << "no new one during the pause";
}

TEST_F(NvmlProcess, after_a_pause_another_is_asked) {
  NvmlOptions soon = impatient();
  soon.pause = milliseconds(1);
  const auto probe = awake(soon);
  const int hung = child();
  const auto descriptors = descriptors_of(::getpid());
  play(kCard + "hang nvmlDeviceGetCount\n");
  ASSERT_EQ(read(*probe).error().code, Code::timed_out);
  play(kCard);
  read_until(*probe, [](const Gpus& gpus) { return gpus.has_value(); });
  EXPECT_NE(child(), hung);
  EXPECT_EQ(descriptors_of(::getpid()).size(), descriptors.size());
}

TEST_F(NvmlProcess, a_new_one_may_take_its_time_to_wake_the_cards) {
  play(kCard + "slow nvmlInit_v2 2500\n");
  NvmlOptions options = impatient();
  options.answer = seconds(1);
  const auto probe = nvml(loop_.get_executor(), options);
  ASSERT_EQ(read(*probe).error().code, Code::timed_out);
  const int first = child();
  ASSERT_NE(first, 0) << "it was not killed";
  read_until(*probe, [](const Gpus& gpus) { return gpus.has_value(); });
  EXPECT_EQ(child(), first);
  play(kCard + "card 00000000:02:00.0 GPU-b 9 0 0 x\n");
  EXPECT_EQ(read(*probe)->size(), 2u) << "the late answer is not taken for a new one";
}

TEST_F(NvmlProcess, a_late_answer_is_not_given_to_a_later_read) {
  play(kCard + "slow nvmlDeviceGetUUID 700\n");
  NvmlOptions options = impatient();
  options.pause = milliseconds(1);
  const auto probe = nvml(loop_.get_executor(), options);
  ASSERT_EQ(read(*probe).error().code, Code::timed_out);
  play("card 00000000:01:00.0 GPU-new 150000000000 0 0 NVIDIA H200\n");
  const Gpus gpus = read_until(*probe, [](const Gpus& so_far) { return so_far.has_value(); });
  EXPECT_EQ(gpus->at(0).uuid, "GPU-new");
}

TEST_F(NvmlProcess, a_new_one_that_never_answers_is_ended_too) {
  play(kCard + "hang nvmlInit_v2\n");
  NvmlOptions options = impatient();
  options.first_answer = milliseconds(900);
  const auto probe = nvml(loop_.get_executor(), options);
  ASSERT_EQ(read(*probe).error().code, Code::timed_out);
  const int hung = child();
  ASSERT_NE(hung, 0);
  EXPECT_TRUE(eventually([&] { return read(*probe), child() == 0; }));
  EXPECT_TRUE(has_ended(hung));
}

TEST_F(NvmlProcess, a_probe_can_end_while_a_call_hangs) {
  const auto descriptors = descriptors_of(::getpid());
  {
    play(kCard + "hang nvmlInit_v2\n");
    const auto probe = nvml(loop_.get_executor(), impatient());
    ASSERT_EQ(read(*probe).error().code, Code::timed_out);
    ASSERT_NE(child(), 0);
  }
  EXPECT_EQ(child(), 0);
  EXPECT_EQ(descriptors_of(::getpid()).size(), descriptors.size());
}

Task<void> keep(GpuProbe& probe, std::vector<Result<std::vector<GpuState>>>& answers) {
  answers.push_back(co_await probe.read());
}

TEST_F(NvmlProcess, reads_that_overlap_share_one_answer) {
  play(kCard + log() + "slow nvmlDeviceGetCount 200\n");
  const auto probe = nvml(loop_.get_executor(), options());
  std::vector<Gpus> answers;
  std::vector<Task<void>> readers;
  for (int i = 0; i < 5; ++i) readers.push_back(keep(*probe, answers));
  run_all(std::move(readers));
  EXPECT_THAT(answers, SizeIs(5));
  for (const Gpus& gpus : answers) EXPECT_TRUE(gpus && gpus->size() == 1);
  EXPECT_EQ(calls_of("nvmlDeviceGetCount_v2"), 1);
}

TEST_F(NvmlProcess, a_reader_that_leaves_takes_nobody_along) {
  play(kCard + log() + "slow nvmlDeviceGetCount 400\n");
  const auto probe = nvml(loop_.get_executor(), options());
  Gpus left, stayed;
  auto leave = [&]() -> Task<void> { left = co_await with_deadline(probe->read(), milliseconds(100), "this reader"); };
  auto stay = [&]() -> Task<void> { stayed = co_await probe->read(); };
  std::vector<Task<void>> readers;
  readers.push_back(leave());
  readers.push_back(stay());
  run_all(std::move(readers));
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().message, "this reader took longer than 100 ms");
  ASSERT_TRUE(stayed) << stayed.error().text();
  EXPECT_EQ(stayed->size(), 1u);
  EXPECT_THAT(read(*probe)->size(), 1u);
  EXPECT_EQ(calls_of("nvmlInit_v2"), 1) << "by one child";
}

TEST_F(NvmlProcess, followers_that_leave_take_nobody_along) {
  play(kCard + "slow nvmlDeviceGetCount 400\n");
  const auto probe = nvml(loop_.get_executor(), options());
  Gpus left, stayed;
  auto stay = [&]() -> Task<void> { stayed = co_await probe->read(); };
  auto leave = [&]() -> Task<void> { left = co_await with_deadline(probe->read(), milliseconds(50), "this reader"); };
  std::vector<Task<void>> readers;
  readers.push_back(stay());
  readers.push_back(leave());
  run_all(std::move(readers));
  EXPECT_FALSE(left);
  EXPECT_TRUE(stayed) << stayed.error().text();
}

TEST_F(NvmlProcess, one_that_somebody_killed_is_replaced_at_once) {
  const auto probe = awake(options());
  const int killed = child();
  ASSERT_EQ(::kill(killed, SIGKILL), 0);
  ASSERT_TRUE(eventually([killed] { return has_ended(killed); }));
  const Gpus gpus = read(*probe);
  ASSERT_TRUE(gpus) << gpus.error().text();
  EXPECT_NE(child(), killed);
}

TEST_F(NvmlProcess, one_that_dies_in_a_call_says_how) {
  const auto probe = awake(options());
  play(kCard + "crash nvmlDeviceGetName\n");
  const Gpus gpus = read(*probe);
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, Code::unreachable);
  EXPECT_THAT(gpus.error().message, HasSubstr("ended by signal 6"));
  EXPECT_EQ(child(), 0);
  play(kCard);
  EXPECT_FALSE(read(*probe)) << "not started again and again";
  EXPECT_EQ(child(), 0);
}

TEST_F(NvmlProcess, one_that_can_not_be_started_is_unreachable) {
  const auto descriptors = descriptors_of(::getpid());
  NvmlOptions options = impatient();
  for (const char* program : {"/nonexistent", "/bin/false"}) {
    options.program = program;
    const auto probe = nvml(loop_.get_executor(), options);
    const Gpus gpus = read(*probe);
    ASSERT_FALSE(gpus) << program;
    EXPECT_EQ(gpus.error().code, Code::unreachable) << gpus.error().text();
    EXPECT_EQ(child(), 0);
  }
  EXPECT_EQ(descriptors_of(::getpid()).size(), descriptors.size());
}

TEST_F(NvmlProcess, inherits_nothing) {
  const int leaky = ::fcntl(STDERR_FILENO, F_DUPFD, 50);  // without FD_CLOEXEC
  ASSERT_GE(leaky, 50);
  sigset_t mask, before;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &mask, &before), 0);
  const auto old_pipe = std::signal(SIGPIPE, SIG_IGN);
  const auto probe = awake(options());
  const int pid = child();
  EXPECT_THAT(descriptors_of(pid), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(test::status_field(pid, "SigBlk"), "0000000000000000");
  constexpr unsigned long kOfTheCLibrary = 3UL << 31;  // 32 and 33, which posix_spawn leaves ignored
  EXPECT_EQ(std::stoul(test::status_field(pid, "SigIgn"), nullptr, 16) & ~kOfTheCLibrary, 0u);
  EXPECT_EQ(test::status_field(pid, "Name"), "k3d-nvml");
  EXPECT_EQ(::getpgid(pid), pid) << "a ^C for the daemon is not for it";
  std::signal(SIGPIPE, old_pipe);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(leaky);
}

TEST_F(NvmlProcess, many_reads_leave_nothing) {
#ifdef NDEBUG
  constexpr long kGrowthKiB = 64 * 1024;  // the sanitizers' builds: what is freed there is held back for a while
#else
  constexpr long kGrowthKiB = 1024;
#endif
  const auto before = descriptors_of(::getpid());
  {
    const auto probe = awake(options());
    const int pid = child();
    const auto in_use = descriptors_of(::getpid());
    const long memory = std::atol(test::status_field(pid, "VmRSS").c_str());
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(read(*probe));
    EXPECT_EQ(child(), pid);
    EXPECT_EQ(descriptors_of(::getpid()), in_use);
    EXPECT_THAT(descriptors_of(pid), ElementsAre(0, 1, 2, 3));
    EXPECT_LT(std::atol(test::status_field(pid, "VmRSS").c_str()), memory + kGrowthKiB);
  }
  EXPECT_EQ(child(), 0);
  EXPECT_EQ(descriptors_of(::getpid()).size(), before.size());
}

TEST_F(NvmlProcess, ends_when_the_daemon_is_killed_though_a_call_hangs) {
  play(kCard + log() + "hang nvmlDeviceGetCount\n");
  auto daemon = ChildProcess::start(loop_.get_executor(), "/proc/self/exe", {"daemon", test::kHoldAProbe});
  ASSERT_TRUE(daemon) << daemon.error().text();
  ASSERT_TRUE(eventually([this] { return calls_of("nvmlDeviceGetCount_v2") == 1; }));
  const auto children = children_of((*daemon)->pid());
  ASSERT_THAT(children, SizeIs(1));
  ASSERT_EQ(::kill((*daemon)->pid(), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return has_ended(*children.begin()); }));
}

TEST_F(NvmlProcess, ends_when_its_socket_is_closed) {
  play(kCard);
  const std::string parent = std::to_string(::getpid());
  const auto before = descriptors_of(::getpid());
  auto process = ChildProcess::start(loop_.get_executor(), "/proc/self/exe", {"k3d", "--nvml-child", parent});
  ASSERT_TRUE(process);
  ASSERT_TRUE(k3d::test::run(loop_, (*process)->send("gpus\ngpus\n")));
  EXPECT_THAT(*k3d::test::run(loop_, (*process)->line()), HasSubstr("GPU-a"));
  EXPECT_THAT(*k3d::test::run(loop_, (*process)->line()), HasSubstr("GPU-a")) << "an answer for each line";
  for (const int fd : descriptors_of(::getpid())) {
    if (!before.contains(fd)) ::shutdown(fd, SHUT_WR);  // says no to those that are no socket
  }
  EXPECT_TRUE(eventually([&] { return (*process)->ended(); }));
  EXPECT_EQ((*process)->how_it_ended(), "ended with status 0");
}

TEST_F(NvmlProcess, of_another_parent_ends_at_once) {
  auto process = ChildProcess::start(loop_.get_executor(), "/proc/self/exe", {"k3d", "--nvml-child", "1"});
  ASSERT_TRUE(process);
  EXPECT_TRUE(eventually([&] { return (*process)->ended(); }));
}

}  // namespace
}  // namespace k3d::adapters
