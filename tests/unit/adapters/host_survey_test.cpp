// The whole look at a host: what is slow or fails hides nothing else, and no look keeps the loop or the process.
#include "daemon/adapters/host_survey.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <future>

#include "daemon/adapters/host_survey_thread.hpp"
#include "daemon/base/async/task_group.hpp"
#include "tests/doubles/fake_containers.hpp"
#include "tests/unit/adapters/tree.hpp"
#include "tests/unit/docker_driver/loop.hpp"

namespace k3d::adapters {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class FakeInspector final : public GpuInspector {
 public:
  Result<GpuReport> now = GpuReport{};
  int asked = 0;
  Task<Result<GpuReport>> inspect() override {
    ++asked;
    co_return now;
  }
};

class HostSurveyTest : public test::TreeTest {
 protected:
  HostSurveyTest() {
    put("proc/1/comm", "systemd\n");
    put("proc/cpuinfo", "processor\t: 0\n");
    auto settings = std::make_shared<Settings>();
    settings->hub.cache = root_ / "hub";
    settings->state = root_ / "state";
    std::filesystem::create_directories(settings->hub.cache);
    settings_ = settings;
    options_.root = root_;
    options_.driver_version = root_ / "version";
    options_.limit = milliseconds(500);
  }

  [[nodiscard]] SnapshotPtr now(const std::string& engine = "") const {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->settings = settings_;
    if (!engine.empty()) {
      snapshot->engine.emplace();
      snapshot->engine->container_id = ContainerId{engine};
    }
    return snapshot;
  }
  HostReport take(HostSurvey& survey, const SnapshotPtr& snapshot, bool probe = false) {
    return k3d::test::run(loop_, survey.take(snapshot, probe));
  }
  [[nodiscard]] std::unique_ptr<HostSurvey> survey() {
    return host_survey(loop_.get_executor(), gpus_, containers_, options_);
  }

  asio::io_context loop_{1};
  doubles::Calls calls_;
  doubles::FakeContainers containers_{calls_};
  FakeInspector gpus_;
  std::shared_ptr<const Settings> settings_;
  SurveyOptions options_;
};

TEST_F(HostSurveyTest, everything_is_looked_at) {
  const HostReport report = take(*survey(), now());
  EXPECT_TRUE(report.gpus);
  EXPECT_TRUE(report.docker);
  EXPECT_TRUE(report.cpu);
  ASSERT_TRUE(report.disks);
  EXPECT_EQ(report.disks->size(), 2u);
  EXPECT_EQ(report.disks->front().read_speed.error(), "not measured");
  ASSERT_TRUE(report.servers);
  EXPECT_THAT(*report.servers, IsEmpty());
  EXPECT_NE(report.taken_at, WallTime{});
}

TEST_F(HostSurveyTest, what_fails_hides_nothing_else) {
  gpus_.now = fail(Code::timed_out, "hangs");
  containers_.down = Error{Code::docker_unavailable, "no", "", ""};
  const HostReport report = take(*survey(), now());
  EXPECT_EQ(report.gpus.error().code, Code::timed_out);
  EXPECT_EQ(report.docker.error().code, Code::docker_unavailable);
  EXPECT_TRUE(report.cpu);
  EXPECT_TRUE(report.disks);
}

TEST_F(HostSurveyTest, a_docker_that_hangs_costs_its_time_and_no_more) {
  containers_.hanging = {"info"};
  const HostReport report = take(*survey(), now());
  EXPECT_EQ(report.docker.error().code, Code::timed_out);
  EXPECT_TRUE(report.cpu);
}

TEST_F(HostSurveyTest, a_disk_that_hangs_is_unknown_and_ends_nothing) {
  // Opening a pipe that nobody writes to waits for ever, as a dead disk does.
  std::filesystem::create_directories(root_ / "proc/self");
  ASSERT_EQ(::mkfifo((root_ / "proc/self/mountinfo").c_str(), 0600), 0);
  {
    const auto hung = survey();
    const HostReport report = take(*hung, now());
    EXPECT_FALSE(report.disks);
    EXPECT_TRUE(report.cpu) << "the rest is told";
    EXPECT_FALSE(take(*hung, now(), true).disks) << "and no second one hangs beside it";
  }
  std::ofstream(root_ / "proc/self/mountinfo") << "";  // lets it go: nobody waits for its result any more
}

TEST_F(HostSurveyTest, a_fresh_report_is_given_again_but_not_to_a_probe) {
  const auto one = survey();
  take(*one, now());
  take(*one, now());
  EXPECT_EQ(gpus_.asked, 1);
  put("hub/file", std::string(100'000, 'x'));
  const HostReport probed = take(*one, now(), true);
  EXPECT_EQ(gpus_.asked, 2);
  EXPECT_EQ(probed.disks->front().read_speed->bytes, 100'000u);
}

TEST_F(HostSurveyTest, those_who_ask_at_once_share_one_look) {
  const auto one = survey();
  int answered = 0;
  auto ask = [&]() -> Task<void> {
    (void)co_await one->take(now(), false);
    ++answered;
  };
  TaskGroup group(loop_.get_executor());
  for (int i = 0; i < 5; ++i) group.spawn(ask());
  loop_.restart();
  loop_.run();
  EXPECT_EQ(answered, 5);
  EXPECT_EQ(gpus_.asked, 1);
}

TEST_F(HostSurveyTest, one_who_leaves_takes_nobody_along) {
  put("proc/self/x", "");
  const auto one = survey();
  int answered = 0;
  TaskGroup leaving(loop_.get_executor()), staying(loop_.get_executor());
  auto ask = [&]() -> Task<void> {
    (void)co_await one->take(now(), false);
    ++answered;
  };
  leaving.spawn(ask());
  staying.spawn(ask());
  asio::post(loop_, [&leaving] { leaving.cancel(); });
  loop_.restart();
  loop_.run();
  EXPECT_GE(answered, 1);
}

TEST_F(HostSurveyTest, engines_of_k3d_are_not_foreign) {
  const std::string ours(64, 'a'), others(64, 'b');
  ContainerInfo container;
  container.id = ContainerId{ours};
  container.name = ours;
  container.labels = {{"k3d.instance", "other"}};
  containers_.add(container);
  put("proc/40/comm", "llama-server\n");
  put("proc/40/cgroup", "0::/docker/" + ours + "\n");
  put("proc/41/comm", "llama-server\n");
  put("proc/41/cgroup", "0::/docker/" + others + "\n");
  const HostReport report = take(*survey(), now());
  ASSERT_TRUE(report.servers) << report.servers.error();
  ASSERT_EQ(report.servers->size(), 1u);
  EXPECT_EQ(report.servers->front().pid, 41);
  containers_.down = Error{Code::docker_unavailable, "no", "", ""};
  EXPECT_THAT(take(*survey(), now()).servers.error(), HasSubstr("Docker can't be asked")) << "it can't be told whose they are";
}

TEST_F(HostSurveyTest, processes_of_our_engine_on_a_gpu_are_marked) {
  GpuFacts gpu;
  gpu.state.processes = {{1, "llama-server", {}, "c1", false}, {2, "python3", {}, "c2", false}};
  gpus_.now->gpus = {gpu};
  const HostReport report = take(*survey(), now("c1"));
  EXPECT_TRUE(report.gpus->gpus[0].state.processes[0].ours);
  EXPECT_FALSE(report.gpus->gpus[0].state.processes[1].ours);
}

TEST_F(HostSurveyTest, what_the_profiles_want_is_told) {
  Settings settings = *settings_;
  settings.proxy.listen = {"127.0.0.1:1"};
  Profile profile;
  profile.model = "m";
  profile.gpus.choice = GpuChoice::none;
  settings.profiles = {profile};
  settings.models["m"].path = "/x/y.gguf";
  settings_ = std::make_shared<const Settings>(settings);
  HostReport report = take(*survey(), now());
  EXPECT_FALSE(report.gpus_wanted);
  EXPECT_FALSE(report.hub_wanted);
  EXPECT_FALSE(report.tailscale_wanted);
  settings.profiles[0].gpus.choice = GpuChoice::all;
  settings.models["m"] = Model{};
  settings.models["m"].repo = "a/b";
  settings.proxy.listen = {"auto:8000"};
  settings_ = std::make_shared<const Settings>(settings);
  report = take(*survey(), now());
  EXPECT_TRUE(report.gpus_wanted);
  EXPECT_TRUE(report.hub_wanted);
  EXPECT_TRUE(report.tailscale_wanted);
}

TEST(SurveyThread, may_end_while_a_look_goes_on) {
  asio::io_context loop(1);
  std::promise<void> go, done;
  {
    SurveyThread thread(loop.get_executor());
    thread.begin([&go, &done] {
      go.get_future().wait();
      done.set_value();
      return HostReport{};
    });
    EXPECT_FALSE(k3d::test::run(loop, thread.result(std::chrono::steady_clock::now() + milliseconds(20))));
  }
  go.set_value();
  done.get_future().wait();
}

}  // namespace
}  // namespace k3d::adapters
