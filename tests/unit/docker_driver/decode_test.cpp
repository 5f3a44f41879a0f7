// Docker's answers, shortened from real ones.
#include "docker_driver/decode.hpp"

#include <gtest/gtest.h>

namespace k3d::docker {
namespace {

std::string container(const std::string& state) {
  return R"({"Id":"abc","Name":"/k3d-default-1","Image":"sha256:1","Config":{"Labels":{"k3d.instance":"default"}},"State":{)" +
         state + "}}";
}

TEST(DockerDecode, running_container) {
  const auto info = decode_container(container(
      R"("Status":"running","Running":true,"Pid":42,"ExitCode":0,"StartedAt":"2026-11-30T23:36:40.095930452Z","FinishedAt":"0001-01-01T00:00:00Z")"));
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_TRUE(info->running());
  EXPECT_EQ(info->name, "k3d-default-1");
  EXPECT_EQ(info->labels.at("k3d.instance"), "default");
  EXPECT_EQ(info->pid, 42);
  EXPECT_FALSE(info->exit_code) << "a running container has no exit code, though Docker says 0";
  EXPECT_TRUE(info->started_at);
  EXPECT_FALSE(info->finished_at);
}

TEST(DockerDecode, F32_killed_for_memory) {
  const auto info = decode_container(
      container(R"("Status":"exited","OOMKilled":true,"Pid":0,"ExitCode":137,"FinishedAt":"2026-11-30T23:36:40Z")"));
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->oom_killed);
  EXPECT_EQ(info->exit_code, 137);
  EXPECT_TRUE(info->finished_at);
}

TEST(DockerDecode, F34_never_started_is_no_exit_but_a_failed_start_is) {
  EXPECT_FALSE(decode_container(container(R"("Status":"created","ExitCode":0)"))->exit_code);
  EXPECT_EQ(decode_container(container(R"("Status":"created","ExitCode":127,"Error":"exec")"))->exit_code, 127);
}

TEST(DockerDecode, what_is_no_container_is_a_protocol_error) {
  for (const char* bad : {"", "[]", "{}", "not json", R"({"Id":"a","State":{"Status":"flying"}})"}) {
    const auto info = decode_container(bad);
    ASSERT_FALSE(info) << bad;
    EXPECT_EQ(info.error().code, Code::protocol);
  }
}

TEST(DockerDecode, engine_without_cdi) {
  const auto info = decode_info(R"({"DockerRootDir":"/var/lib/docker","LiveRestoreEnabled":true})",
                                R"({"Version":"20.10.24+dfsg1"})", ApiVersion{1, 41});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->version, "20.10.24+dfsg1");
  EXPECT_EQ(info->api_version, "1.41");
  EXPECT_TRUE(info->live_restore);
  EXPECT_FALSE(info->cdi);
  EXPECT_FALSE(info->cdi_devices_known);
}

TEST(DockerDecode, engine_with_cdi_devices) {
  const auto info = decode_info(
      R"({"CDISpecDirs":["/etc/cdi","/var/run/cdi"],"DiscoveredDevices":[{"Source":"cdi","ID":"nvidia.com/gpu=0"},{"Source":"other","ID":"x"}]})",
      R"({"Version":"28.5.2"})", ApiVersion{1, 51});
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->cdi);
  EXPECT_TRUE(info->cdi_devices_known);
  EXPECT_EQ(info->cdi_devices, std::vector<std::string>{"nvidia.com/gpu=0"});
}

TEST(DockerDecode, engine_that_takes_cdi_but_does_not_list_devices) {
  const auto info = decode_info(R"({"CDISpecDirs":["/etc/cdi"]})", "{}", ApiVersion{1, 47});
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->cdi);
  EXPECT_FALSE(info->cdi_devices_known);
}

TEST(DockerDecode, memory_without_the_droppable_cache_and_without_a_limit_that_is_none) {
  const auto v1 = decode_stats(
      R"({"memory_stats":{"usage":1000,"limit":9223372036854771712,"stats":{"total_inactive_file":400}}})");
  ASSERT_TRUE(v1);
  EXPECT_EQ(v1->memory_bytes, 600U);
  EXPECT_FALSE(v1->memory_limit_bytes);
  const auto v2 = decode_stats(R"({"memory_stats":{"usage":1000,"limit":2000,"stats":{"inactive_file":100}}})");
  EXPECT_EQ(v2->memory_bytes, 900U);
  EXPECT_EQ(v2->memory_limit_bytes, 2000U);
  EXPECT_EQ(decode_stats(R"({"memory_stats":{}})").error().code, Code::docker_refused) << "unknown isn't 0";
}

TEST(DockerDecode, event_of_a_death) {
  const auto event = decode_event(
      R"({"status":"die","id":"abc","Type":"container","Action":"die","Actor":{"ID":"abc","Attributes":{"exitCode":"137"}},"timeNano":1796081770254948980})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->action, "die");
  EXPECT_EQ(event->id.value, "abc");
  EXPECT_EQ(event->attributes.at("exitCode"), "137");
  EXPECT_EQ(event->time_nano, 1796081770254948980);
  EXPECT_FALSE(decode_event("{\"Action\":"));
}

TEST(DockerDecode, image) {
  const auto image = decode_image(
      R"({"Id":"sha256:9","RepoTags":["a:1"],"Size":70000000000,"Config":{"Entrypoint":["/app/llama-server"]}})");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->entrypoint.front(), "/app/llama-server");
  EXPECT_EQ(image->size, 70000000000U);
  EXPECT_TRUE(decode_image(R"({"Id":"sha256:9","RepoTags":null,"Config":{"Entrypoint":null}})")->entrypoint.empty());
}

}  // namespace
}  // namespace k3d::docker
