// What a container may do, seen from inside: the launch specification as the kernel enforces it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/base/secret.hpp"
#include "tests/component/docker/engine.hpp"

namespace k3d::docker::real {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Isolation : public RealEngine {
 protected:
  std::string output_of(const LaunchSpec& wanted) {
    const ContainerId id = create_and_start(wanted);
    wait(id);
    return read(id, {}).text();
  }
};

TEST_F(Isolation, user_groups_and_no_capability) {
  LaunchSpec wanted = spec("id -u; id -g; id -G; grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status");
  wanted.user = "4711:4712";
  wanted.groups = {"4713"};
  const std::string out = output_of(wanted);
  EXPECT_THAT(out, HasSubstr("4711\n4712\n4712 4713\n"));
  EXPECT_THAT(out, HasSubstr("CapBnd:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("NoNewPrivs:\t1"));
}

TEST_F(Isolation, root_is_read_only_and_tmp_is_not_executable) {
  const std::string out = output_of(
      spec("touch /here 2>&1; echo '#!/bin/sh' >/tmp/x && echo written; /bin/busybox chmod 755 /tmp/x; /tmp/x 2>&1"));
  EXPECT_THAT(out, HasSubstr("/here: Read-only file system"));
  EXPECT_THAT(out, HasSubstr("written"));
  EXPECT_THAT(out, HasSubstr("/tmp/x: Permission denied"));
}

TEST_F(Isolation, mounts_are_what_they_say_with_any_path) {
  const auto folder = std::filesystem::temp_directory_path() / ("k3d, \"a:b\" " + random_hex(6));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "weights") << "bytes\n";
  LaunchSpec wanted = spec("cat '/m/a, b:c/weights'; touch '/m/a, b:c/new' 2>&1; touch /w/new && echo ok");
  wanted.mounts = {{folder, "/m/a, b:c", true}, {folder, "/w", false}};
  const std::string out = output_of(wanted);
  EXPECT_THAT(out, HasSubstr("bytes\n"));
  EXPECT_THAT(out, HasSubstr("/new: Read-only file system"));
  EXPECT_THAT(out, HasSubstr("ok\n"));
  EXPECT_TRUE(std::filesystem::exists(folder / "new"));
  std::filesystem::remove_all(folder);
}

TEST_F(Isolation, source_of_a_mount_that_is_missing_is_refused_and_not_made) {
  const auto missing = std::filesystem::temp_directory_path() / ("k3d-missing-" + random_hex(6));
  LaunchSpec wanted = spec("true");
  wanted.mounts = {{missing, "/m", true}};
  const auto created = run(docker_->create(wanted));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::docker_refused);
  EXPECT_THAT(created.error().cause, HasSubstr(missing.string()));
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(Isolation, arguments_and_environment_arrive_as_they_are) {
  LaunchSpec wanted = spec("");
  wanted.entrypoint = {"/bin/sh", "-c", "printf '%s|' \"$@\" \"$ODD\"; echo", "name"};
  wanted.args = {"a b", "it's", "$(id)", "*", "", "ü"};
  wanted.env = {{"ODD", "x=y z\t\"q\""}};
  EXPECT_EQ(output_of(wanted), "a b|it's|$(id)|*||ü|x=y z\t\"q\"|\n");
}

TEST_F(Isolation, network_and_ipc_of_the_host_only_when_asked) {
  const std::string script =
      "cat /proc/net/dev | grep -c :; for n in ipc net; do /bin/busybox readlink /proc/self/ns/$n; done";
  const std::string alone = output_of(spec(script));
  LaunchSpec wanted = spec(script);
  wanted.host_network = true;
  wanted.host_ipc = true;
  const std::string shared = output_of(wanted);
  const std::string ipc = std::filesystem::read_symlink("/proc/self/ns/ipc");
  const std::string net = std::filesystem::read_symlink("/proc/self/ns/net");
  EXPECT_THAT(shared, HasSubstr(ipc));
  EXPECT_THAT(shared, HasSubstr(net));
  EXPECT_THAT(alone, Not(HasSubstr(ipc)));
  EXPECT_THAT(alone, Not(HasSubstr(net)));
  EXPECT_THAT(alone, HasSubstr("1\n")) << "the loopback alone";
}

}  // namespace
}  // namespace k3d::docker::real
