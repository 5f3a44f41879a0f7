// The contract of containers, as the double keeps it.
#include "tests/doubles/containers_contract.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/doubles/fake_containers.hpp"

namespace k3d::doubles {
namespace {

TEST(FakeContainersContract, it_behaves_as_docker_does) {
  Calls calls;
  FakeContainers containers(calls);
  containers.images["busybox"] = {{"sha256:b", {"busybox"}, {}, 1}, "", 0, true};
  containers.on_start = [&containers](FakeContainer& container) {
    if (container.spec.args.front() == "exit 7") containers.end(container.info.name, 7);
  };
  int number = 0;
  auto spec = [&number](const std::string& script) {
    LaunchSpec spec;
    spec.name = "test-" + std::to_string(++number);
    spec.image = "busybox";
    spec.args = {script};
    spec.labels = {{"k3d.test", "mark"}};
    return spec;
  };
  asio::io_context loop;
  bool done = false;
  asio::co_spawn(loop, check_contract(&containers, "mark", spec), [&done](const std::exception_ptr& e, bool) {
    EXPECT_FALSE(e);
    done = true;
  });
  loop.run_for(seconds(10));
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace k3d::doubles
