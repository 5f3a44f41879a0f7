// Every pair of state and event, played once: docs/state-machine.md is what comes out. K3D_UPDATE_GOLDEN=1 rewrites it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "daemon/lifecycle/step.hpp"
#include "tests/unit/lifecycle/samples.hpp"

namespace k3d::lifecycle {
namespace {

Target target_of(const std::string& profile) {
  Target target;
  target.profile = profile;
  target.operation = OperationId("op");
  return target;
}

Target own_target(const std::string& profile) {
  Target target;
  target.profile = profile;
  return target;
}

Failure failure(bool retryable) {
  Failure out;
  out.code = "crash";
  out.retryable = retryable;
  return out;
}

const std::vector<std::pair<std::string, InstanceState>>& states() {
  const Engine a = engine_of("a", 1);
  const Target b = target_of("b");
  static const std::vector<std::pair<std::string, InstanceState>> kStates{
      {"Stopped", state::Stopped{}},
      {"Preparing", state::Preparing{b, std::nullopt}},
      {"Preparing, a serves", state::Preparing{b, a}},
      {"Draining", state::Draining{b, launch_of("b", 2), a}},
      {"Stopping, b follows", state::Stopping{b, launch_of("b", 2), std::nullopt, a}},
      {"Stopping, it failed", state::Stopping{target_of("a"), std::nullopt, failure(true), a}},
      {"Stopping, nothing follows", state::Stopping{Target{}, std::nullopt, std::nullopt, a}},
      {"Clearing", state::Clearing{target_of("a"), launch_of("a", 1)}},
      {"Starting", state::Starting{target_of("a"), launch_of("a", 1)}},
      {"Loading", state::Loading{target_of("a"), a}},
      {"Loading, of k3d's own doing", state::Loading{own_target("a"), a}},
      {"Probing", state::Probing{target_of("a"), a}},
      {"Ready", state::Ready{a, {}}},
      {"Backoff", state::Backoff{target_of("a"), failure(true), 1, 2, {}}},
      {"Held", state::Held{OperationId("gate"), {}}},
      {"Held, b follows", state::Held{OperationId("gate"), b}},
      {"Failed", state::Failed{"a", failure(false)}},
      {"Failed, it runs on", state::Failed{"a", failure(false), a}},
  };
  return kStates;
}

const std::vector<std::pair<std::string, Event>>& events() {
  static const std::vector<std::pair<std::string, Event>> kEvents{
      {"Activate b", event::Activate{target_of("b")}},
      {"Activate a", event::Activate{target_of("a")}},
      {"Deactivate", event::Deactivate{OperationId("down"), false}},
      {"Cancel", event::Cancel{OperationId("op")}},
      {"Prepared", event::Prepared{OperationId("op"), launch_of("b", 2)}},
      {"PrepareFailed", event::PrepareFailed{OperationId("op"), failure(false)}},
      {"Drained", event::Drained{1}},
      {"EngineStopped", event::EngineStopped{1}},
      {"StopFailed", event::StopFailed{1, failure(true)}},
      {"VramFree", event::VramFree{1}},
      {"VramHeld", event::VramHeld{1, failure(true)}},
      {"Started", event::Started{engine_of("a", 1)}},
      {"StartFailed, no retry helps", event::StartFailed{1, failure(false)}},
      {"HealthOk", event::HealthOk{1}},
      {"ProbeOk", event::ProbeOk{1, {}}},
      {"GaveUp", event::GaveUp{1, failure(true)}},
      {"Exited", event::Exited{1, failure(true)}},
      {"Exited, no retry helps", event::Exited{1, failure(false)}},
      {"RetryDue", event::RetryDue{{}}},
      {"Idle", event::Idle{1}},
      {"Hold", event::Hold{OperationId("gate")}},
      {"Release", event::Release{OperationId("gate")}},
      {"Adopted", event::Adopted{engine_of("a", 1)}},
      {"Missing", event::Missing{"a", failure(true), true, false}},
  };
  return kEvents;
}

const char* name_of(const InstanceState& state) {
  static const char* const kNames[]{"Stopped", "Preparing", "Draining", "Stopping", "Clearing", "Starting",
                                    "Loading", "Probing",   "Ready",    "Backoff",  "Held",     "Failed"};
  static_assert(std::variant_size_v<InstanceState> == std::size(kNames));
  return kNames[state.index()];
}

const char* name_of(const Effect& effect) {
  static const char* const kNames[]{"Prepare", "CancelPrepare", "CancelDrain", "Clear", "Retry", "Preempt",
                                    "Guard",   "Drain",         "Stop",        "Start", "Watch", "Probe",
                                    "Discard", "Persist",       "OperationStep", "OperationEnd"};
  static_assert(std::variant_size_v<Effect> == std::size(kNames));
  return kNames[effect.index()];
}

std::string effects_of(const Step& step) {
  std::string out;
  for (const Effect& effect : step.effects) {
    if (std::holds_alternative<effect::OperationStep>(effect)) continue;  // the operation's step says only where it is
    out += (out.empty() ? "" : ", ") + std::string(name_of(effect));
    if (const auto* end = std::get_if<effect::OperationEnd>(&effect)) out += " " + std::string(to_string(end->state));
  }
  return out;
}

std::string diagram() {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> edges;
  for (const auto& [label, state] : states()) {
    for (const auto& [word, event] : events()) {
      const Step next = step(state, event, {});
      if (next.ignored.empty() && next.state.index() != state.index()) {
        edges[{name_of(state), name_of(next.state)}].insert(word.substr(0, word.find_first_of(", ")));
      }
    }
  }
  std::string out = "```mermaid\nstateDiagram-v2\n  [*] --> Stopped\n";
  for (const auto& [ends, words] : edges) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
    out += "  " + ends.first + " --> " + ends.second + ": " + all + "\n";
  }
  return out + "```\n";
}

std::string table() {
  std::string out = "| state | event | next state | effects |\n| --- | --- | --- | --- |\n";
  for (const auto& [label, state] : states()) {
    for (const auto& [word, event] : events()) {
      const Step next = step(state, event, {});
      if (!next.ignored.empty()) continue;
      out += "| " + label + " | " + word + " | " + name_of(next.state) + " | " + effects_of(next) + " |\n";
    }
  }
  return out;
}

std::string document() {
  return "# The lifecycle's state machine\n\n"
         "Written by tests/unit/lifecycle/state_machine_test.cpp from daemon/lifecycle/step, with `a` as the profile "
         "whose engine runs and `b` as another. Phases of the API: Clearing is `starting`, Held is `stopped` with "
         "`held_by`; all others are named alike. `on_failure` is rollback.\n\n" +
         diagram() +
         "\nEvery pair of state and event that is not in this table changes nothing: the event speaks of something that "
         "is no longer, or not yet, so. Events carry the attempt or the operation they are about; stale ones are "
         "dropped.\n\n" +
         table();
}

TEST(StateMachine, the_document_is_what_the_code_does) {
  const std::string path = K3D_SOURCE_DIR "/docs/state-machine.md";
  if (std::getenv("K3D_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << document();
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), document()) << path << " is older than the code";
}

TEST(StateMachine, every_event_means_something_somewhere_and_every_state_can_be_left) {
  for (const auto& [word, event] : events()) {
    const bool used = std::any_of(states().begin(), states().end(),
                                  [&event](const auto& s) { return step(s.second, event, {}).ignored.empty(); });
    EXPECT_TRUE(used) << word;
  }
  for (const auto& [label, state] : states()) {
    const bool left = std::any_of(events().begin(), events().end(), [&state](const auto& e) {
      return step(state, e.second, {}).state.index() != state.index();
    });
    EXPECT_TRUE(left) << label;
  }
}

}  // namespace
}  // namespace k3d::lifecycle
