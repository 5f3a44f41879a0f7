// The forecaster on a loop, with doubles of everything outside and files that are headers alone.
#include "daemon/forecast/forecaster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>

#include "config/overrides.hpp"
#include "tests/doubles/fake_containers.hpp"
#include "tests/doubles/fakes.hpp"
#include "tests/unit/planning/gguf_builder.hpp"

namespace k3d::forecast {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Forecasts : public testing::Test {
 protected:
  Forecasts() {
    folder_ = fs::canonical(fs::temp_directory_path()) / ("k3d-forecaster-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    settings_.models["tiny"].path = folder_ / "tiny.gguf";
    settings_.models["k3"].repo = "some/K3";
    settings_.models["k3"].name = "k3";
    settings_.hub.cache = folder_ / "hub";
    for (const auto& [name, model, quant] : {std::tuple("a", "tiny", ""), {"b", "k3", "Q2"}}) {
      Profile profile;
      profile.name = name;
      profile.model = model;
      profile.quant = quant;
      profile.gpus.choice = GpuChoice::none;
      settings_.profiles.push_back(profile);
    }
    publish();
    planning::test::GgufBuilder builder;
    std::ofstream(folder_ / "tiny.gguf", std::ios::binary) << builder.text("general.architecture", "other").file();
    begin();
  }
  ~Forecasts() override {
    stop();
    fs::remove_all(folder_);
  }

  void begin() {
    Surroundings around{board_, gpus_, containers_, [] { return planning::HostRam{64 * kGiB, 32 * kGiB}; },
                        config::with_overrides,
                        // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): the fixture outlives it
                        [this](Profile profile) -> Task<Result<Launch>> {
                          launched_.push_back(std::move(profile));
                          co_return launch_;
                        }};
    around.look = milliseconds(5);
    forecaster_.emplace(loop_.get_executor(), std::move(around));
  }
  void stop() {
    bool done = false;
    asio::co_spawn(loop_, forecaster_->stop(), [&done](const std::exception_ptr&) { done = true; });
    until([&done] { return done; });
    loop_.restart();
    loop_.run();
  }
  void publish() {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->settings = std::make_shared<const Settings>(settings_);
    snapshot->overrides = overrides_;
    board_.publish(std::move(snapshot));
  }
  template <class Condition>
  bool until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(10);
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      loop_.restart();
      loop_.run_one_for(milliseconds(10));
    }
    return condition();
  }
  Result<PlanAnswer> plan(PlanQuestion question) {
    std::optional<Result<PlanAnswer>> answer;
    asio::co_spawn(loop_, forecaster_->plan(std::move(question)),
                   [&answer](const std::exception_ptr&, Result<PlanAnswer> value) { answer.emplace(std::move(value)); });
    EXPECT_TRUE(until([&answer] { return answer.has_value(); }));
    return answer ? *answer : fail(Code::timed_out, "no answer");
  }
  static PlanQuestion of(const std::string& profile) {
    PlanQuestion question;
    question.profile = profile;
    return question;
  }

  fs::path folder_;
  Settings settings_;
  std::map<std::string, Overrides> overrides_;
  asio::io_context loop_{1};
  doubles::Calls calls_;
  Board board_;
  doubles::FakeGpus gpus_;
  doubles::FakeContainers containers_{calls_};
  Result<Launch> launch_ = Launch{};
  std::vector<Profile> launched_;
  std::optional<Forecaster> forecaster_;
};

TEST_F(Forecasts, answers_with_the_argument_list_of_the_launch) {
  launch_->argv = {"--model", "tiny"};
  const auto answer = plan(of("a"));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->plan.verdict, Verdict::blocked) << "an architecture that nobody knows";
  EXPECT_EQ(answer->argv, launch_->argv);
  ASSERT_EQ(launched_.size(), 1u);
  EXPECT_EQ(launched_[0].name, "a");
}

TEST_F(Forecasts, says_why_the_argument_list_is_not_known) {
  launch_ = fail(Code::image_missing, "Docker has no image x");
  const auto answer = plan(of("a"));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->argv.empty());
  EXPECT_THAT(answer->plan.warnings.back(), HasSubstr("Docker has no image x"));
}

TEST_F(Forecasts, a_path_or_a_model_alone_has_no_launch) {
  PlanQuestion question;
  question.path = folder_ / "tiny.gguf";
  EXPECT_TRUE(plan(question));
  question.path.clear();
  question.model = "tiny";
  EXPECT_TRUE(plan(question));
  EXPECT_TRUE(launched_.empty());
}

TEST_F(Forecasts, files_that_are_not_here_are_said_to_be_missing_unless_the_hub_can_be_asked) {
  const auto missing = plan(of("b"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::files_missing);
  EXPECT_NE(missing.error().hint, "");
}

TEST_F(Forecasts, headers_of_the_hub_stand_in_for_files_that_are_not_here) {
  std::vector<std::string> fetched;
  Surroundings around{board_, gpus_, containers_, [] { return std::nullopt; }, config::with_overrides,
                      [](Profile) -> Task<Result<Launch>> { co_return fail(Code::files_missing, "not here"); },
                      // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): it outlives the call
                      [&fetched](Model model, std::string quant) -> Task<Result<HeadersPtr>> {
                        fetched.push_back(model.repo + " " + quant);
                        co_return std::make_shared<const planning::ModelHeaders>();
                      }};
  forecaster_.emplace(loop_.get_executor(), std::move(around));
  const auto answer = plan(of("b"));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(fetched, std::vector<std::string>{"some/K3 Q2"});
  EXPECT_EQ(answer->present_bytes, 0u);
  forecaster_->start();
  ASSERT_TRUE(until([this] { return forecaster_->outlook("b") != nullptr; }));
  EXPECT_EQ(fetched.size(), 1u) << "nobody goes to the hub unasked";
}

TEST_F(Forecasts, gpus_that_cannot_be_read_are_an_error_only_where_they_count) {
  gpus_.now = fail(Code::timed_out, "the driver hangs");
  EXPECT_TRUE(plan(of("a"))) << "it has no GPUs";
  PlanQuestion question = of("a");
  question.gpus = {{0}};
  EXPECT_EQ(plan(question).error().code, Code::timed_out);
  question.gpus = {{std::nullopt, kGiB, kGiB}};
  EXPECT_TRUE(plan(question));
}

TEST_F(Forecasts, what_earlier_loads_measured_counts_on_this_host_alone) {
  stop();
  auto known = std::make_shared<Plan>();
  known->basis = PlanBasis::measured;
  known->host.compute_bytes = 77;
  known->load_seconds = 600;
  Surroundings around{board_, gpus_, containers_, [] { return planning::HostRam{64 * kGiB, 32 * kGiB}; },
                      config::with_overrides, [this](Profile) -> Task<Result<Launch>> { co_return launch_; }};
  around.start = [known](Profile) -> Task<Result<std::shared_ptr<const Plan>>> { co_return known; };
  forecaster_.emplace(loop_.get_executor(), std::move(around));
  const auto here = plan(of("a"));
  ASSERT_TRUE(here) << here.error().text();
  EXPECT_EQ(here->plan.basis, PlanBasis::measured);
  EXPECT_EQ(here->plan.host.compute_bytes, 77U);
  EXPECT_EQ(here->plan.load_seconds, 600);
  PlanQuestion elsewhere = of("a");
  elsewhere.ram_bytes = 64 * kGiB;
  EXPECT_EQ(plan(elsewhere)->plan.basis, PlanBasis::computed);
}

TEST_F(Forecasts, an_exact_plan_conflicts_with_an_engine) {
  PlanQuestion question = of("a");
  question.exact = true;
  EXPECT_EQ(plan(question).error().code, Code::invalid_request) << "nobody can be asked";
  PlanQuestion elsewhere = question;
  elsewhere.gpus = {{std::nullopt, kGiB, kGiB}};
  EXPECT_THAT(plan(elsewhere).error().hint, HasSubstr("GPUs by their size"));
  auto snapshot = std::make_shared<Snapshot>(*board_.read());
  snapshot->engine.emplace();
  board_.publish(snapshot);
  EXPECT_EQ(plan(question).error().code, Code::conflict);
}

TEST_F(Forecasts, outlooks_come_by_themselves_and_are_of_the_settings_in_force) {
  EXPECT_EQ(forecaster_->outlook("a"), nullptr) << "nobody has looked";
  forecaster_->start();
  ASSERT_TRUE(until([this] { return forecaster_->outlook("a") && forecaster_->outlook("b"); }));
  EXPECT_TRUE(forecaster_->outlook("a")->has_value());
  EXPECT_EQ(forecaster_->outlook("b")->error().code, Code::files_missing);
  EXPECT_TRUE(launched_.empty()) << "a look by itself starts nothing, not even --help";
  const auto before = forecaster_->outlook("a");
  overrides_["a"] = {{"slots", "1"}};
  publish();
  EXPECT_EQ(forecaster_->outlook("a"), nullptr) << "the old one is of other settings";
  EXPECT_TRUE(until([this] { return forecaster_->outlook("a") != nullptr; }));
  EXPECT_NE(forecaster_->outlook("a"), before);
  settings_.profiles.pop_back();
  publish();
  EXPECT_EQ(forecaster_->outlook("b"), nullptr);
}

}  // namespace
}  // namespace k3d::forecast
