#include "tests/component/docker/engine.hpp"

#include <cstdlib>

#include "daemon/base/secret.hpp"

namespace k3d::docker::real {

std::string ReadLog::text() const {
  std::string out;
  for (const LogLine& line : lines) out += line.text + "\n";
  return out;
}

Task<Result<ReadLog>> read_all(LogStream* log) {
  ReadLog out;
  for (;;) {
    Result<std::optional<LogLine>> line = co_await log->next();
    if (!line) co_return fail(line.error());
    if (!*line) co_return out;
    out.lines.push_back(std::move(**line));
  }
}

RealEngine::RealEngine() : docker_(driver_at(kSocket)), mark_(random_hex(6)) {}

RealEngine::~RealEngine() {
  for (const ContainerId& id : made_) {
    const Status removed = run(docker_->remove(id));
    EXPECT_TRUE(removed) << removed.error().text();
  }
}

std::unique_ptr<Containers> RealEngine::driver_at(const std::string& socket) {
  DockerSettings settings;
  settings.host = "unix://" + socket;
  return connect(loop_.get_executor(), settings);
}

LaunchSpec RealEngine::spec(const std::string& script) const {
  LaunchSpec out;
  out.name = "k3d-test-" + mark_ + "-" + std::to_string(++number_);
  out.image = kImage;
  out.args = {script};
  out.labels = {{"k3d.test", mark_}};
  out.host_network = false;
  out.host_ipc = false;
  out.memlock_unlimited = false;
  return out;
}

ContainerId RealEngine::create(const LaunchSpec& wanted) {
  const Result<ContainerId> id = run(docker_->create(wanted));
  if (!id) {
    ADD_FAILURE() << id.error().text();
    return {};
  }
  made_.push_back(*id);
  return *id;
}

ContainerId RealEngine::create_and_start(const LaunchSpec& wanted) {
  const ContainerId id = create(wanted);
  const Status started = run(docker_->start(id));
  EXPECT_TRUE(started) << started.error().text();
  return id;
}

ContainerInfo RealEngine::wait(const ContainerId& id) {
  const Result<ContainerInfo> info = run(docker_->wait(id));
  if (!info) {
    ADD_FAILURE() << info.error().text();
    return {};
  }
  return *info;
}

ReadLog RealEngine::read(const ContainerId& id, const LogRequest& request) {
  const std::unique_ptr<LogStream> log = docker_->logs(id, request);
  Result<ReadLog> out = run(read_all(log.get()));
  if (!out) {
    ADD_FAILURE() << out.error().text();
    return {};
  }
  return std::move(*out);
}

void RealEngine::die(const char* why) {
  // The task's frame can't be left behind on a loop that dies.
  ADD_FAILURE() << why;
  std::abort();
}

}  // namespace k3d::docker::real

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!::testing::GTEST_FLAG(list_tests)) {
    const int made = std::system(K3D_SOURCE_DIR "/tests/component/docker/make_image.sh");
    if (made != 0) return 1;
  }
  return RUN_ALL_TESTS();
}
