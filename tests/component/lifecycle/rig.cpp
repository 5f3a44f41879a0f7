#include "tests/component/lifecycle/rig.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <fstream>
#include <sstream>

#include "daemon/base/secret.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/launch_plan.hpp"

namespace k3d::lifecycle {
namespace {

using std::chrono::steady_clock;

std::string help_text() {
  std::ifstream file(K3D_SOURCE_DIR "/tests/golden/llama-server-help-debian.txt");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Profile profile_of(const std::string& name) {
  Profile profile;
  profile.name = name;
  profile.model = "tiny";
  profile.image = "engine:1";
  profile.gpus.choice = GpuChoice::none;
  profile.context = 4096;
  profile.slots = 1;
  return profile;
}

}  // namespace

namespace {

/// The doubles know two overrides.
Result<Profile> overridden(const Profile& profile, const Overrides& set) {
  Profile changed = profile;
  for (const auto& [key, value] : set) {
    if (key == "fit_target_mib") {
      changed.placement.fit_target_mib = {std::stoi(value)};
      continue;
    }
    if (key != "ubatch") return fail(Code::invalid_request, "there is no override \"" + key + "\"");
    changed.ubatch = std::stoi(value);
  }
  return changed;
}

}  // namespace

Rig::Rig() : state_(std::filesystem::temp_directory_path() / ("k3d-lifecycle-" + random_hex(6))) {
  std::filesystem::create_directories(state_ / "attempts");
  std::ofstream(state_ / "tiny.gguf", std::ios::binary) << std::string("GGUF\x03\0\0\0", 8) << std::string(4096, '\0');
  settings_->state = state_;
  settings_->docker.host = "unix://" + (state_ / "docker.sock").string();
  Model model;
  model.name = "tiny";
  model.path = state_ / "tiny.gguf";
  settings_->models["tiny"] = model;
  settings_->profiles = {profile_of("a"), profile_of("b")};
  containers_.images["engine:1"] = {{"sha256:1", {"engine:1"}, {"/bin/llama-server"}, 1}, help_text(), 0, true};
}

Rig::~Rig() {
  if (supervisor_) finish(false);
  std::filesystem::remove_all(state_);
}

void Rig::boot() {
  const std::vector<std::uint64_t> kept = kept_attempts(state_);
  journal_ = std::make_unique<Journal>(loop_.get_executor(), store_, kept.empty() ? 0 : kept.front(), milliseconds(50));
  supervisor_ = std::make_unique<Supervisor>(
      loop_.get_executor(), Ports{containers_, engines_, host_, traffic_, notifier_, board_, *journal_, gpus_, overridden, pace_},
      settings_, "test", [](const Snapshot&) { return std::string(); });
  supervisor_->start();
}

void Rig::finish(bool stop_engine) {
  bool done = false;
  asio::co_spawn(loop_, supervisor_->finish(stop_engine), [&done](const std::exception_ptr& exception) {
    EXPECT_FALSE(exception);
    done = true;
  });
  if (!until([&done] { return done; })) {
    ADD_FAILURE() << "it does not end";
    std::abort();  // its tasks can't be left on a loop that dies
  }
  supervisor_.reset();
  journal_.reset();
}

bool Rig::until(const std::function<bool()>& condition, milliseconds limit) {
  const SteadyTime deadline = steady_clock::now() + limit;
  while (!condition() && steady_clock::now() < deadline) {
    loop_.restart();
    loop_.run_one_for(milliseconds(20));
  }
  return condition();
}

void Rig::pass(milliseconds duration) {
  until([] { return false; }, duration);
}

OperationId Rig::activate(const std::string& profile, bool restart) {
  const auto asked = on_loop([&] { return supervisor_->activate({profile, false, restart, false, "", "test"}); });
  EXPECT_TRUE(asked);
  return asked ? asked->operation.id : OperationId();
}

OperationId Rig::deactivate(bool force) {
  const auto asked = on_loop([&] { return supervisor_->deactivate({force, "", "test"}); });
  EXPECT_TRUE(asked);
  return asked ? asked->operation.id : OperationId();
}

Result<Operation> Rig::cancel(const OperationId& id) {
  return on_loop([&] { return supervisor_->cancel(id, "test"); });
}

void Rig::serve(const std::string& profile) {
  const OperationId id = activate(profile);
  EXPECT_TRUE(until_ended(id));
  EXPECT_EQ(operation(id).state, OperationState::succeeded) << profile;
  EXPECT_EQ(now()->phase, Phase::ready);
}

bool Rig::until_ended(const OperationId& id) {
  return until([this, &id] { return operation(id).ended(); });
}

Operation Rig::operation(const OperationId& id) const {
  const Operation* found = supervisor_->operations().find(id);
  return found == nullptr ? Operation{} : *found;
}

bool Rig::has_condition(const std::string& code) const {
  const auto snapshot = now();
  return std::any_of(snapshot->conditions.begin(), snapshot->conditions.end(),
                     [&code](const Condition& condition) { return condition.code == code; });
}

doubles::Calls Rig::calls() {
  doubles::Calls seen;
  std::swap(seen, calls_);
  std::erase_if(seen, [](const std::string& call) {
    return call.find("-help-") != std::string::npos || call.starts_with("image") || call.starts_with("inspect") ||
           call == "list";
  });
  return seen;
}

ContainerInfo Rig::engine_container(const std::string& profile, std::uint64_t attempt) const {
  Launch launch;
  launch.profile = profile;
  launch.attempt = attempt;
  launch.folder = folder(attempt);
  launch.log = launch.folder / "engine.log";
  launch.address.unix_path = (launch.folder / "engine.sock").string();
  ContainerInfo info;
  info.name = name(attempt);
  info.status = ContainerStatus::running;
  info.pid = 77;
  info.started_at = std::chrono::system_clock::now() - seconds(1000) + seconds(attempt);
  info.labels = {{"k3d.instance", "default"},
                 {"k3d.profile", profile},
                 {"k3d.attempt", std::to_string(attempt)},
                 {"k3d.spec", "earlier"},
                 {"k3d.launch", launch_label(launch)}};
  return info;
}

std::filesystem::path Rig::folder(std::uint64_t attempt) const {
  return attempt_folder(state_, attempt);
}

void Rig::write_log(std::uint64_t attempt, const std::string& line) const {
  append_line(folder(attempt) / "engine.log", line);
}

Profile& Rig::profile(const std::string& name) {
  return *std::find_if(settings_->profiles.begin(), settings_->profiles.end(),
                       [&name](const Profile& p) { return p.name == name; });
}

}  // namespace k3d::lifecycle
