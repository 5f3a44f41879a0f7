// The `docker run` line that people see makes the same container as the call that k3d makes.
#include "docker_driver/run_line.hpp"

#include <array>
#include <cstdio>

#include "daemon/base/http_client.hpp"
#include "daemon/base/json.hpp"
#include "tests/component/docker/engine.hpp"

namespace k3d::docker::real {
namespace {

class RunLine : public RealEngine {
 protected:
  Json raw_inspect(const std::string& id) {
    const http::Client client(*http::Endpoint::parse(std::string("unix:") + kSocket));
    http::Request request;
    request.target = "/v1.41/containers/" + id + "/json";
    const auto answer = run(client.call(std::move(request), milliseconds(5000)));
    return answer ? parse_json(answer->body).value_or(Json()) : Json();
  }
};

/// The first line that `command` prints.
std::string first_line_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> piece{};
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe)) out.append(piece.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return out.substr(0, out.find('\n'));
}

/// Path and arguments as the kernel will get them.
std::string command_of(const Json& container) {
  return json_member(container, "Path").dump() + json_member(container, "Args").dump();
}

TEST_F(RunLine, makes_the_same_container) {
  LaunchSpec wanted = spec("it's $HOME");
  wanted.mounts = {{"/etc", "/mnt/host etc,x:y", true}, {"/tmp", "/mnt/tmp", false}};
  wanted.env = {{"A", "b \"c\" $d"}};
  wanted.groups = {"44"};
  wanted.user = "65534:65534";
  wanted.entrypoint = {"/bin/sh", "-c"};
  wanted.memlock_unlimited = true;
  wanted.host_network = true;
  wanted.host_ipc = true;
  const ContainerId by_api = create(wanted);
  const std::string asked_text = docker_->create_body(wanted);
  wanted.name += "-cli";
  const std::string line = docker_run_line(wanted);
  const std::string words = "docker run --detach";
  ASSERT_TRUE(line.starts_with(words));
  const ContainerId by_cli(first_line_of("docker create" + line.substr(words.size())));
  const Json expected = raw_inspect(by_api.value);
  const Json got = raw_inspect(by_cli.value);
  EXPECT_TRUE(run(docker_->remove(by_cli)));
  const Json asked = parse_json(asked_text).value_or(Json());
  ASSERT_TRUE(asked.is_object());
  for (const auto& [key, value] : asked.at("HostConfig").items()) {
    EXPECT_EQ(json_member(json_member(expected, "HostConfig"), key), json_member(json_member(got, "HostConfig"), key))
        << key;
  }
  for (const char* key : {"Image", "Env", "Labels", "User", "Tty", "OpenStdin", "StopTimeout", "Healthcheck"}) {
    EXPECT_EQ(json_member(json_member(expected, "Config"), key), json_member(json_member(got, "Config"), key)) << key;
  }
  EXPECT_EQ(command_of(expected), command_of(got));
}

}  // namespace
}  // namespace k3d::docker::real
