// The contract of the double, against the real Engine.
#include "tests/component/docker/engine.hpp"
#include "tests/doubles/containers_contract.hpp"

namespace k3d::docker::real {
namespace {

using Contract = RealEngine;

TEST_F(Contract, docker_behaves_as_the_double_does) {
  const std::string mark = label().substr(label().find('=') + 1);
  EXPECT_TRUE(
      run(doubles::check_contract(docker_.get(), mark, [this](const std::string& script) { return spec(script); })));
}

}  // namespace
}  // namespace k3d::docker::real
