// The `docker run` line. That it makes the same container as the API call is shown against a real Engine elsewhere.
#include "docker_driver/run_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tests/unit/docker_driver/samples.hpp"

namespace k3d::docker {
namespace {

TEST(DockerRunLine, least_of_all) {
  EXPECT_EQ(docker_run_line(test::bare_spec()),
            "docker run --detach --init --read-only --no-healthcheck --restart no --network none --cap-drop ALL "
            "--security-opt no-new-privileges --tmpfs /tmp:rw,noexec,nosuid,nodev,size=1g --pids-limit 8192 "
            "--stop-timeout 30 --log-driver json-file --log-opt max-size=10m --log-opt max-file=3 busybox");
}

TEST(DockerRunLine, mount_with_a_comma_is_quoted_as_csv) {
  const auto words = docker_run_arguments(test::gpu_spec());
  EXPECT_NE(
      std::find(words.begin(), words.end(), "type=bind,\"source=/data/K3 a,b:c\",\"target=/models/K3 a,b:c\",readonly"),
      words.end());
}

/// What a shell makes of `line`: one word a line.
std::string words_in_a_shell(const std::string& line) {
  const std::string command = "printf '%s\\n' " + line;
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> piece{};
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe)) out.append(piece.data(), n);
  pclose(pipe);
  return out;
}

TEST(DockerRunLine, shell_reads_back_every_argument) {
  const LaunchSpec spec = test::gpu_spec();
  std::string expected;
  for (const std::string& word : docker_run_arguments(spec)) expected += word + "\n";
  EXPECT_EQ(words_in_a_shell(docker_run_line(spec)), expected);
}

TEST(DockerRunLine, rest_of_the_entrypoint_comes_before_the_arguments) {
  const auto words = docker_run_arguments(test::gpu_spec());
  const auto image = std::find(words.begin(), words.end(), "k3d-engine-upstream:0123456789ab");
  ASSERT_NE(image, words.end());
  EXPECT_EQ(*(image - 1), "/bin/sh");
  EXPECT_EQ(*(image + 1), "/k3d/wrap.sh");
  EXPECT_EQ(*(image + 2), "-m");
}

}  // namespace
}  // namespace k3d::docker
