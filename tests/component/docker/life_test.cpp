// A container's life on the real Engine: created, started, watched, ended, removed; and what fails on the way.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/component/docker/cut_relay.hpp"
#include "tests/component/docker/engine.hpp"

namespace k3d::docker::real {
namespace {

using Life = RealEngine;

TEST_F(Life, engine_says_what_it_is) {
  const auto info = run(docker_->info());
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_FALSE(info->version.empty());
  EXPECT_TRUE(info->api_version.starts_with("1.")) << info->api_version;
  EXPECT_TRUE(info->root_dir.starts_with('/')) << info->root_dir;
  EXPECT_TRUE(info->cdi || info->cdi_devices.empty());
}

TEST_F(Life, image_is_known_by_its_tag_and_by_its_id) {
  const auto image = run(docker_->image(kImage));
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->entrypoint, (std::vector<std::string>{"/bin/sh", "-c"}));
  EXPECT_NE(std::find(image->tags.begin(), image->tags.end(), kImage), image->tags.end());
  EXPECT_GT(image->size, 100 * kKiB);
  const auto again = run(docker_->image(image->id));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->id, image->id);
}

TEST_F(Life, F34_missing_image_is_named) {
  const auto image = run(docker_->image("k3d-nowhere/engine:0123"));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::image_missing);
  EXPECT_NE(image.error().message.find("k3d-nowhere/engine:0123"), std::string::npos);
  LaunchSpec wanted = spec("true");
  wanted.image = "k3d-nowhere:0123";
  const auto created = run(docker_->create(wanted));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::image_missing);
  EXPECT_NE(created.error().message.find("k3d-nowhere:0123"), std::string::npos);
  EXPECT_FALSE(created.error().cause.empty()) << "Docker's own words";
}

TEST_F(Life, from_create_to_remove) {
  const LaunchSpec wanted = spec("echo up; echo trouble >&2; exec sleep 600");
  const ContainerId id = create(wanted);
  auto info = run(docker_->inspect(id));
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->status, ContainerStatus::created);
  EXPECT_EQ(info->name, wanted.name);
  EXPECT_EQ(info->labels.at("k3d.test"), wanted.labels.at("k3d.test"));
  EXPECT_FALSE(info->exit_code);
  EXPECT_FALSE(info->started_at);

  ASSERT_TRUE(run(docker_->start(id)));
  EXPECT_TRUE(run(docker_->start(id))) << "a second start is fine";
  info = run(docker_->inspect(id));
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_TRUE(info->running());
  EXPECT_GT(info->pid, 0);
  EXPECT_TRUE(info->started_at);
  EXPECT_FALSE(info->finished_at);

  ASSERT_TRUE(run(docker_->kill(id, "TERM")));
  const ContainerInfo ended = wait(id);
  EXPECT_EQ(ended.status, ContainerStatus::exited);
  EXPECT_EQ(ended.exit_code, 143);
  EXPECT_EQ(ended.pid, 0);
  EXPECT_TRUE(ended.finished_at);

  const ReadLog log = read(id, {});
  ASSERT_EQ(log.lines.size(), 2U);
  const bool err_first = log.lines[0].is_stderr;
  EXPECT_EQ(log.lines[err_first ? 1 : 0].text, "up");
  EXPECT_EQ(log.lines[err_first ? 0 : 1].text, "trouble");
  EXPECT_FALSE(log.lines[0].stamp.empty());

  EXPECT_EQ(run(docker_->kill(id, "KILL")).error().code, Code::conflict) << "it doesn't run";
  EXPECT_TRUE(run(docker_->remove(id)));
  EXPECT_TRUE(run(docker_->remove(id))) << "gone is fine";
  EXPECT_EQ(run(docker_->inspect(id)).error().code, Code::not_found);
  EXPECT_EQ(run(docker_->wait(id)).error().code, Code::not_found);
  EXPECT_EQ(run(docker_->start(id)).error().code, Code::not_found);
}

TEST_F(Life, F28_name_in_use_is_a_conflict) {
  const LaunchSpec wanted = spec("true");
  create(wanted);
  const auto second = run(docker_->create(wanted));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_NE(second.error().message.find(wanted.name), std::string::npos);
}

TEST_F(Life, exit_codes_are_the_program_s_own) {
  EXPECT_EQ(wait(create_and_start(spec("exit 0"))).exit_code, 0);
  EXPECT_EQ(wait(create_and_start(spec("exit 7"))).exit_code, 7);
  EXPECT_EQ(wait(create_and_start(spec("kill -ABRT $$"))).exit_code, 134);
  EXPECT_EQ(wait(create_and_start(spec("kill -SEGV $$"))).exit_code, 139);
  const ContainerId id = create_and_start(spec("exec sleep 600"));
  ASSERT_TRUE(run(docker_->kill(id, "KILL")));
  EXPECT_EQ(wait(id).exit_code, 137);
}

TEST_F(Life, F34_missing_entrypoint_ends_with_127_and_says_so) {
  LaunchSpec wanted = spec("");
  wanted.entrypoint = {"/bin/llama-server"};
  wanted.args = {"--help"};
  const ContainerId id = create_and_start(wanted);
  EXPECT_EQ(wait(id).exit_code, 127);
  EXPECT_NE(read(id, {}).text().find("/bin/llama-server"), std::string::npos);
}

TEST_F(Life, start_that_the_runtime_refuses_keeps_its_words) {
  LaunchSpec wanted = spec("true");
  wanted.user = "no-such-user";
  const ContainerId id = create(wanted);
  const Status started = run(docker_->start(id));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::docker_refused);
  EXPECT_NE(started.error().cause.find("no-such-user"), std::string::npos) << started.error().text();
  EXPECT_FALSE(docker_->is_memlock_refusal(started.error()));
}

TEST_F(Life, memlock_is_unlimited_or_its_refusal_is_recognised) {
  LaunchSpec wanted = spec("grep 'Max locked memory' /proc/self/limits");
  wanted.memlock_unlimited = true;
  const ContainerId id = create(wanted);
  const Status started = run(docker_->start(id));
  if (started) {
    EXPECT_EQ(wait(id).exit_code, 0);
    EXPECT_NE(read(id, {}).text().find("unlimited"), std::string::npos);
    return;
  }
  EXPECT_TRUE(docker_->is_memlock_refusal(started.error())) << started.error().text();
  wanted.memlock_unlimited = false;
  wanted.name += "-again";
  EXPECT_EQ(wait(create_and_start(wanted)).exit_code, 0) << "without the limit it starts";
}

TEST_F(Life, stop_waits_for_the_grace_and_then_kills) {
  const ContainerId willing = create_and_start(spec("exec sleep 600"));
  EXPECT_TRUE(run(docker_->stop(willing, seconds(30))));
  EXPECT_EQ(run(docker_->inspect(willing))->exit_code, 143);
  EXPECT_TRUE(run(docker_->stop(willing, seconds(30)))) << "a second stop is fine";

  const ContainerId stubborn = create_and_start(spec("trap '' TERM; echo deaf; while :; do sleep 1; done"));
  LogRequest follow;
  follow.follow = true;
  const auto log = docker_->logs(stubborn, follow);
  const auto line = run(log->next());
  ASSERT_TRUE(line && *line) << "the trap is set";
  EXPECT_TRUE(run(docker_->stop(stubborn, seconds(1))));
  EXPECT_EQ(run(docker_->inspect(stubborn))->exit_code, 137);
}

TEST_F(Life, list_has_the_stopped_ones_and_no_strangers) {
  const ContainerId created = create(spec("true"));
  const ContainerId running = create_and_start(spec("exec sleep 600"));
  const ContainerId ended = create_and_start(spec("exit 3"));
  wait(ended);
  const auto found = run(docker_->list(label()));
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 3U);
  for (const ContainerInfo& info : *found) {
    EXPECT_EQ(info.status, info.id == created   ? ContainerStatus::created
                           : info.id == running ? ContainerStatus::running
                                                : ContainerStatus::exited);
    EXPECT_EQ(info.started_at.has_value(), info.id != created);
    if (info.id == ended) EXPECT_EQ(info.exit_code, 3);
  }
  EXPECT_TRUE(run(docker_->list("k3d.test=nobody"))->empty());
}

TEST_F(Life, file_of_an_image_is_found_without_starting_it) {
  const ContainerId id = create(spec("true"));
  EXPECT_EQ(run(docker_->has_file(id, "/bin/busybox")).value_or(false), true);
  EXPECT_EQ(run(docker_->has_file(id, "/bin/llama-server")).value_or(true), false);
  EXPECT_EQ(run(docker_->has_file(ContainerId("k3d-test-nobody"), "/bin/sh")).error().code, Code::not_found);
}

TEST_F(Life, memory_of_a_running_container) {
  const ContainerId id = create_and_start(spec("exec sleep 600"));
  const auto stats = run(docker_->stats(id));
  if (!stats) {
    // Where containerd finds no cgroup Docker has no figures: that is said, and not taken for 0 bytes.
    EXPECT_EQ(stats.error().code, Code::docker_refused) << stats.error().text();
    return;
  }
  EXPECT_GT(stats->memory_bytes, 0U);
  EXPECT_LT(stats->memory_bytes, 100 * kMiB);
}

TEST_F(Life, events_tell_of_start_and_end_of_our_containers_only) {
  auto events = run(docker_->events(label()));
  ASSERT_TRUE(events) << events.error().text();
  const ContainerId id = create_and_start(spec("exit 5"));
  std::vector<std::string> actions;
  for (;;) {
    const auto event = run((*events)->next());
    ASSERT_TRUE(event) << event.error().text();
    EXPECT_EQ(event->id, id);
    EXPECT_GT(event->time_nano, 0);
    actions.push_back(event->action);
    if (event->action == "die") {
      EXPECT_EQ(event->attributes.at("exitCode"), "5");
      break;
    }
  }
  EXPECT_EQ(actions, (std::vector<std::string>{"create", "start", "die"}));
}

TEST_F(Life, F25_wait_outlives_a_connection_that_breaks_off) {
  int waits = 0;
  CutRelay relay([&waits](const std::string& request) -> std::size_t {
    // Docker sends the head at once and the body at the end: the first wait loses even the head's second half.
    const bool cut = request.find("/wait?") != std::string::npos && ++waits <= 2;
    return cut ? 30 : CutRelay::kWhole;
  });
  const ContainerId id = create_and_start(spec("sleep 2; exit 9"));
  const auto behind = driver_at(relay.path());
  const auto info = run(behind->wait(id));
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->exit_code, 9);
  EXPECT_EQ(relay.cuts(), 2);
}

}  // namespace
}  // namespace k3d::docker::real
