// The calls of the port: what is asked, and what answers and failures become.
#include "docker_driver/docker.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>

#include "daemon/base/async/task_group.hpp"
#include "docker_driver/api.hpp"
#include "tests/unit/docker_driver/fake_engine.hpp"
#include "tests/unit/docker_driver/loop.hpp"
#include "tests/unit/docker_driver/samples.hpp"

namespace k3d::docker {
namespace {

using test::Asked;
using test::chunked;
using test::FakeEngine;
using test::Reply;
using test::reply;
using test::run;

std::unique_ptr<Containers> docker_at(asio::io_context& loop, const std::string& path) {
  DockerSettings settings;
  settings.host = "unix://" + path;
  return connect(loop.get_executor(), settings);
}

std::string container(const std::string& state) {
  return R"({"Id":"c","State":{)" + state + "}}";
}

TEST(Docker, F37_versions_are_agreed_on) {
  EXPECT_EQ(agree_on("1.41")->text(), "1.41");
  EXPECT_EQ(agree_on("1.48")->text(), "1.48");
  EXPECT_EQ(agree_on("1.60")->text(), "1.51") << "newer Engines still speak ours";
  EXPECT_EQ(agree_on("1.40").error().code, Code::docker_refused);
  EXPECT_NE(agree_on("1.40").error().message.find("1.41"), std::string::npos);
  for (const char* bad : {"", "1", "1.", "x.y", "1.41x"}) EXPECT_FALSE(agree_on(bad)) << bad;
}

TEST(Docker, F37_version_is_asked_once_and_again_when_another_engine_answers) {
  asio::io_context loop;
  bool replaced = false;
  FakeEngine engine(
      loop,
      [&replaced](const Asked& asked) {
        if (replaced && asked.target.starts_with("/v1.47/")) {
          return reply(400, R"({"message":"client version 1.47 is too new. Maximum supported API version is 1.41"})");
        }
        return reply(200, container(R"("Status":"running")"));
      },
      "1.47");
  const auto docker = docker_at(loop, engine.path());
  EXPECT_TRUE(run(loop, docker->inspect(ContainerId("c"))));
  EXPECT_TRUE(run(loop, docker->inspect(ContainerId("c"))));
  EXPECT_EQ(engine.pings(), 1);
  replaced = true;
  engine.set_version("1.41");
  EXPECT_TRUE(run(loop, docker->inspect(ContainerId("c")))) << "nobody notices";
  EXPECT_TRUE(run(loop, docker->inspect(ContainerId("c"))));
  EXPECT_EQ(engine.pings(), 2);
}

TEST(Docker, F37_engine_that_refuses_its_own_version_is_not_asked_for_ever) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return reply(400, R"({"message":"client version 1.41 is too old."})"); });
  const auto docker = docker_at(loop, engine.path());
  const auto info = run(loop, docker->inspect(ContainerId("c")));
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, Code::docker_refused);
  EXPECT_EQ(engine.asked().size(), 1U);
}

TEST(Docker, F22_engine_that_accepts_and_never_answers_is_unresponsive) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return Reply{"", true}; });
  const auto docker = docker_at(loop, engine.path());
  const auto asked_at = std::chrono::steady_clock::now();
  const auto info = run(loop, docker->inspect(ContainerId("c")));
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, Code::docker_unresponsive);
  EXPECT_LT(std::chrono::steady_clock::now() - asked_at, seconds(10)) << "an inspection has 5 s";
}

TEST(Docker, F28_F34_creation_failures_have_their_names) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) {
    if (asked.target.find("k3d-default-7") != std::string::npos) return reply(409, R"({"message":"in use"})");
    return reply(404, R"({"message":"No such image: busybox:latest"})");
  });
  const auto docker = docker_at(loop, engine.path());
  const auto conflict = run(loop, docker->create(test::gpu_spec()));
  EXPECT_EQ(conflict.error().code, Code::conflict);
  EXPECT_NE(conflict.error().message.find("k3d-default-7"), std::string::npos);
  const auto missing = run(loop, docker->create(test::bare_spec()));
  EXPECT_EQ(missing.error().code, Code::image_missing);
  EXPECT_NE(missing.error().message.find("busybox"), std::string::npos);
}

TEST(Docker, creation_sends_the_body_and_gives_the_id) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return reply(201, R"({"Id":"abc","Warnings":["no swap"]})"); });
  const auto docker = docker_at(loop, engine.path());
  const auto id = run(loop, docker->create(test::gpu_spec()));
  ASSERT_TRUE(id);
  EXPECT_EQ(id->value, "abc");
  EXPECT_EQ(engine.asked().at(0).target, "/v1.41/containers/create?name=k3d-default-7");
  EXPECT_EQ(engine.asked().at(0).body, docker->create_body(test::gpu_spec()));
}

TEST(Docker, started_and_gone_are_fine) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) {
    if (asked.method == "DELETE") return reply(404, R"({"message":"No such container: c"})");
    return Reply{"HTTP/1.1 304 Not Modified\r\n\r\n", false};
  });
  const auto docker = docker_at(loop, engine.path());
  EXPECT_TRUE(run(loop, docker->start(ContainerId("c"))));
  EXPECT_TRUE(run(loop, docker->remove(ContainerId("c"))));
}

TEST(Docker, removal_under_way_is_waited_for) {
  asio::io_context loop;
  int inspected = 0;
  FakeEngine engine(loop, [&inspected](const Asked& asked) {
    if (asked.method == "DELETE") return reply(409, R"({"message":"removal of container c is already in progress"})");
    if (++inspected < 2) return reply(200, container(R"("Status":"removing")"));
    return reply(404, R"({"message":"No such container: c"})");
  });
  const auto docker = docker_at(loop, engine.path());
  EXPECT_TRUE(run(loop, docker->remove(ContainerId("c"))));
  EXPECT_EQ(inspected, 2);
}

TEST(Docker, F25_wait_survives_a_restart_of_docker_and_takes_the_code_from_the_container) {
  asio::io_context loop;
  int waits = 0;
  FakeEngine engine(loop, [&waits](const Asked& asked) {
    if (asked.method == "POST" && ++waits == 1) return chunked({}, false);
    if (asked.method == "POST") return chunked({R"({"StatusCode":0})"}, true);
    return reply(200, container(waits < 2 ? R"("Status":"running")" : R"("Status":"exited","ExitCode":137)"));
  });
  const auto docker = docker_at(loop, engine.path());
  const auto info = run(loop, docker->wait(ContainerId("c")));
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->exit_code, 137);
  EXPECT_EQ(waits, 2);
}

TEST(Docker, F30_wait_for_a_container_that_was_removed_is_not_found) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) { return reply(404, R"({"message":"No such container: c"})"); });
  const auto docker = docker_at(loop, engine.path());
  EXPECT_EQ(run(loop, docker->wait(ContainerId("c"))).error().code, Code::not_found);
}

TEST(Docker, wait_is_ended_by_cancelling_the_task) {
  asio::io_context loop;
  TaskGroup group(loop.get_executor());
  FakeEngine engine(loop, [&loop, &group](const Asked&) {
    asio::post(loop, [&group] { group.cancel(); });
    return Reply{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true};
  });
  const auto docker = docker_at(loop, engine.path());
  const auto waiter = [](Containers* containers) -> Task<void> {
    const auto info = co_await containers->wait(ContainerId("c"));
    EXPECT_FALSE(info);
  };
  group.spawn(waiter(docker.get()));
  const auto join = [](TaskGroup& tasks) -> Task<bool> {
    co_await tasks.join();
    co_return true;
  };
  EXPECT_TRUE(run(loop, join(group)));
}

TEST(Docker, list_inspects_what_it_finds_and_skips_what_is_gone) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) {
    if (asked.target.find("/containers/json?") != std::string::npos) return reply(200, R"([{"Id":"c"},{"Id":"gone"}])");
    if (asked.target.find("gone") != std::string::npos) return reply(404, R"({"message":"No such container: gone"})");
    return reply(200, container(R"("Status":"exited","ExitCode":3)"));
  });
  const auto docker = docker_at(loop, engine.path());
  const auto found = run(loop, docker->list("k3d.instance=default"));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().exit_code, 3);
  EXPECT_EQ(engine.asked().at(0).target,
            "/v1.41/containers/json?all=1&filters=%7B%22label%22%3A%5B%22k3d.instance%3Ddefault%22%5D%7D");
}

TEST(Docker, has_file_tells_a_missing_file_from_a_missing_container) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked& asked) {
    if (asked.method == "HEAD") {
      const bool there = asked.target.find("path=%2Fbin%2Fsh") != std::string::npos;
      return Reply{there ? "HTTP/1.1 200 OK\r\n\r\n" : "HTTP/1.1 404 X\r\nContent-Length: 38\r\n\r\n", false};
    }
    if (asked.target.find("/gone/") != std::string::npos) return reply(404, R"({"message":"No such container: gone"})");
    return reply(200, container(R"("Status":"created")"));
  });
  const auto docker = docker_at(loop, engine.path());
  EXPECT_EQ(run(loop, docker->has_file(ContainerId("c"), "/bin/sh")).value(), true);
  EXPECT_EQ(run(loop, docker->has_file(ContainerId("c"), "/bin/zsh")).value(), false);
  EXPECT_EQ(run(loop, docker->has_file(ContainerId("gone"), "/bin/zsh")).error().code, Code::not_found);
}

TEST(Docker, F27_events_come_one_by_one_and_a_broken_one_is_a_protocol_error) {
  asio::io_context loop;
  FakeEngine engine(loop, [](const Asked&) {
    return chunked({R"({"Action":"start","Actor":{"ID":"c"}})"
                    "\n"
                    R"({"Action":"die","Ac)",
                    R"(tor":{"ID":"c","Attributes":{"exitCode":"1"}}})"
                    "\n",
                    "{\"Action\":\n"},
                   true);
  });
  const auto docker = docker_at(loop, engine.path());
  auto events = run(loop, docker->events("k3d.instance=default"));
  ASSERT_TRUE(events);
  EXPECT_EQ(run(loop, (*events)->next())->action, "start");
  EXPECT_EQ(run(loop, (*events)->next())->attributes.at("exitCode"), "1");
  EXPECT_EQ(run(loop, (*events)->next()).error().code, Code::protocol);
  EXPECT_EQ(run(loop, (*events)->next()).error().code, Code::docker_unavailable) << "the end of the stream";
}

TEST(Docker, address_that_cannot_be_read_is_a_mistake_in_the_configuration) {
  asio::io_context loop;
  DockerSettings settings;
  settings.host = "docker.sock";
  const auto docker = connect(loop.get_executor(), settings);
  const auto info = run(loop, docker->info());
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, Code::config_invalid);
  EXPECT_NE(info.error().message.find("docker.host"), std::string::npos);
}

TEST(Docker, F21_absent_docker) {
  asio::io_context loop;
  const auto docker = docker_at(loop, test::socket_path());
  EXPECT_EQ(run(loop, docker->info()).error().code, Code::docker_unavailable);
  EXPECT_EQ(run(loop, docker->start(ContainerId("c"))).error().code, Code::docker_unavailable);
}

}  // namespace
}  // namespace k3d::docker
