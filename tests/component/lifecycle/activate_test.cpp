// What people ask for: activating, switching, cancelling, deactivating, and what Docker is asked meanwhile.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "daemon/base/files.hpp"
#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

using doubles::Calls;

class Activate : public Rig {
 protected:
  Activate() { boot(); }
};

std::vector<std::string> steps_of(const Operation& operation) {
  std::vector<std::string> names;
  for (const OperationStep& step : operation.steps) names.push_back(step.name);
  return names;
}

TEST_F(Activate, from_nothing_to_ready_in_order) {
  const OperationId id = activate("a");
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded);
  EXPECT_EQ(steps_of(operation(id)), (std::vector<std::string>{"prepare", "free_vram", "start", "load", "probe"}));
  EXPECT_EQ(calls(), (Calls{"create " + name(1), "start " + name(1), "probe"}));
  EXPECT_EQ(containers_.names(), std::vector<std::string>{name(1)}) << "the container of --help is gone";
  EXPECT_EQ(now()->phase, Phase::ready);
  EXPECT_EQ(now()->active_profile, "a");
  ASSERT_TRUE(now()->route);
  EXPECT_EQ(now()->route->address.unix_path, (folder(1) / "engine.sock").string());
  EXPECT_TRUE(until([this] { return store_.desired() == "a"; }));
}

TEST_F(Activate, a_switch_drains_then_cuts_then_stops_then_starts) {
  serve("a");
  calls();
  traffic_.busy = true;
  const OperationId id = activate("b");
  ASSERT_TRUE(until(Phase::draining));
  EXPECT_FALSE(now()->route) << "no new request while it drains";
  EXPECT_EQ(traffic_.limits.back(), seconds(900));
  pass(milliseconds(50));
  EXPECT_EQ(now()->phase, Phase::draining);
  traffic_.release();
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(calls(), (Calls{"drain", "cut", "kill SIGTERM " + name(1), "remove " + name(1), "create " + name(2),
                            "start " + name(2), "probe"}));
  EXPECT_EQ(now()->active_profile, "b");
  EXPECT_EQ(containers_.names(), std::vector<std::string>{name(2)});
}

TEST_F(Activate, an_engine_deaf_to_signals_is_killed_in_the_end) {
  serve("a");
  calls();
  containers_.deaf_to = 2;
  const OperationId id = deactivate();
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(calls(), (Calls{"drain", "cut", "kill SIGTERM " + name(1), "kill SIGTERM " + name(1),
                            "kill SIGKILL " + name(1), "remove " + name(1)}));
  EXPECT_EQ(now()->phase, Phase::stopped);
  EXPECT_TRUE(until([this] { return store_.desired().empty(); }));
}

TEST_F(Activate, deactivating_by_force_cuts_at_once) {
  serve("a");
  traffic_.busy = true;
  const OperationId patient = deactivate();
  ASSERT_TRUE(until(Phase::draining));
  const OperationId forced = deactivate(true);
  ASSERT_TRUE(until_ended(forced));
  EXPECT_EQ(traffic_.limits, (std::vector<seconds>{seconds(900), seconds(0)}));
  EXPECT_EQ(traffic_.cuts.size(), 1U);
  EXPECT_EQ(operation(patient).state, OperationState::cancelled);
  EXPECT_EQ(containers_.running(), 0U);
}

TEST_F(Activate, cancelled_while_preparing_leaves_what_serves) {
  serve("a");
  containers_.hanging = {"image"};
  const OperationId id = activate("b");
  ASSERT_TRUE(until([this] { return std::find(calls_.rbegin(), calls_.rend(), "image engine:1") != calls_.rend(); }));
  ASSERT_TRUE(cancel(id));
  EXPECT_EQ(operation(id).state, OperationState::cancelled);
  EXPECT_EQ(now()->phase, Phase::ready);
  EXPECT_EQ(now()->active_profile, "a");
  EXPECT_TRUE(now()->route);
}

TEST_F(Activate, cancelled_while_draining_serves_again) {
  serve("a");
  traffic_.busy = true;
  const OperationId id = activate("b");
  ASSERT_TRUE(until(Phase::draining));
  ASSERT_TRUE(cancel(id));
  EXPECT_EQ(now()->phase, Phase::ready);
  EXPECT_TRUE(now()->route);
  traffic_.release();
  pass(milliseconds(50));
  EXPECT_EQ(now()->active_profile, "a") << "the drain that was given up has no say";
  EXPECT_TRUE(until([this] { return store_.desired() == "a"; }));
}

TEST_F(Activate, cancelled_while_the_old_one_stops_nothing_runs) {
  serve("a");
  containers_.deaf_to = 1;
  const OperationId id = activate("b");
  ASSERT_TRUE(until(Phase::stopping));
  ASSERT_TRUE(cancel(id));
  ASSERT_TRUE(until(Phase::stopped));
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(Activate, cancelled_while_starting_the_container_goes) {
  serve("a");  // so that what the image can do is known
  ASSERT_TRUE(until_ended(deactivate()));
  containers_.hanging = {"start"};
  const OperationId id = activate("a");
  ASSERT_TRUE(until(Phase::starting));
  ASSERT_TRUE(cancel(id));
  EXPECT_EQ(operation(id).state, OperationState::cancelled);
  containers_.hanging.clear();
  containers_.wake();
  ASSERT_TRUE(until(Phase::stopped));
  EXPECT_TRUE(containers_.names().empty());
}

TEST_F(Activate, cancelled_while_loading_and_while_probing_the_engine_is_stopped) {
  engines_.then = Health::loading;
  const OperationId loading = activate("a");
  ASSERT_TRUE(until(Phase::loading));
  ASSERT_TRUE(cancel(loading));
  ASSERT_TRUE(until(Phase::stopped));
  EXPECT_TRUE(containers_.names().empty());
  engines_.then = Health::ok;
  engines_.probe_hangs = true;
  const OperationId probing = activate("a");
  ASSERT_TRUE(until([this] { return engines_.probed == 1; }));
  ASSERT_TRUE(cancel(probing));
  ASSERT_TRUE(until(Phase::stopped));
  EXPECT_TRUE(containers_.names().empty());
  EXPECT_EQ(operation(probing).error->code, "cancelled");
  EXPECT_EQ(cancel(probing).error().code, Code::conflict) << "it has ended";
}

TEST_F(Activate, a_newer_request_takes_the_place_of_one_that_loads) {
  engines_.then = Health::loading;
  const OperationId first = activate("a");
  ASSERT_TRUE(until(Phase::loading));
  const OperationId same = activate("a");
  EXPECT_EQ(same, first) << "the same request is under way";
  const OperationId second = activate("b");
  EXPECT_EQ(operation(first).error->code, "superseded");
  engines_.then = Health::ok;
  ASSERT_TRUE(until_ended(second));
  EXPECT_EQ(now()->active_profile, "b");
  EXPECT_EQ(containers_.running(), 1U);
}

TEST_F(Activate, image_without_shell_has_its_log_collected) {
  image().has_shell = false;
  containers_.on_start = [this](doubles::FakeContainer& container) { containers_.print(container.info.name, "first"); };
  serve("a");
  containers_.print(name(1), "second");
  EXPECT_TRUE(until([this] { return supervisor_->log_tail(1, 10).size() == 2; }));
  EXPECT_EQ(supervisor_->log_tail(1, 10), (std::vector<std::string>{"first", "second"}));
  EXPECT_TRUE(containers_.find(name(1))->spec.entrypoint.empty()) << "the image's own";
}

TEST_F(Activate, last_words_that_come_through_docker_after_the_end_still_name_it) {
  image().has_shell = false;
  engines_.then = Health::loading;
  const OperationId id = activate("a");
  ASSERT_TRUE(until(Phase::loading));
  containers_.hanging = {"logs"};
  containers_.end(name(1), 127);
  pass(milliseconds(100));
  EXPECT_FALSE(operation(id).ended());
  containers_.hanging.clear();
  containers_.print(name(1), "llama-server: error while loading shared libraries: libcuda.so.1");
  containers_.end(name(1), 127);
  ASSERT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).error->code, "gpu_unavailable") << "exit 127 alone would be image_error";
  EXPECT_NE(operation(id).error->detail.find("libcuda.so.1"), std::string::npos) << operation(id).error->detail;
}

TEST_F(Activate, image_without_unix_sockets_gets_a_port_and_a_key) {
  std::string& help = image().help;
  for (const char* word : {".sock", "UNIX", "unix"}) {
    for (std::size_t at = help.find(word); at != std::string::npos; at = help.find(word)) help.erase(at, 5);
  }
  serve("a");
  const EngineAddress& address = now()->route->address;
  EXPECT_TRUE(address.unix_path.empty());
  EXPECT_EQ(address.port, 18'080);
  ASSERT_GE(address.api_key.size(), 32U);
  EXPECT_EQ(engines_.address.api_key, address.api_key);
  const auto kept = read_file(folder(1) / "key", 4096);
  ASSERT_TRUE(kept);
  EXPECT_EQ(*kept, address.api_key);
  struct stat st{};
  ASSERT_EQ(::stat((folder(1) / "key").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0600U);
  const LaunchSpec& spec = containers_.find(name(1))->spec;
  for (const auto& [label, value] : spec.labels) EXPECT_EQ(value.find(address.api_key), std::string::npos) << label;
  for (const std::string& argument : spec.args) EXPECT_EQ(argument.find(address.api_key), std::string::npos);
  // A later daemon finds the key again.
  finish(false);
  boot();
  ASSERT_TRUE(until(Phase::ready));
  EXPECT_EQ(now()->route->address.api_key, *kept);
}

TEST_F(Activate, F28_port_that_is_taken_is_said) {
  std::string& help = image().help;
  for (const char* word : {".sock", "UNIX", "unix"}) {
    for (std::size_t at = help.find(word); at != std::string::npos; at = help.find(word)) help.erase(at, 5);
  }
  host_.taken = {18'080};
  const OperationId id = activate("a");
  ASSERT_TRUE(until_ended(id));
  EXPECT_NE(operation(id).error->detail.find("18080"), std::string::npos) << operation(id).error->detail;
  EXPECT_TRUE(containers_.names().empty());
}

}  // namespace
}  // namespace k3d::lifecycle
