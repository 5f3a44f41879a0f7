// What failures of Docker mean, with the words that real Engines use.
#include "docker_driver/errors.hpp"

#include <gtest/gtest.h>

#include "docker_driver/docker.hpp"

namespace k3d::docker {
namespace {

constexpr const char* kSocket = "/var/run/docker.sock";

Error no_connection(const char* cause) {
  return {Code::unreachable, "can't connect", {}, cause};
}

TEST(DockerErrors, F21_absent_and_refusing_sockets_say_how_to_start_docker) {
  for (const char* cause : {"No such file or directory", "Connection refused"}) {
    const Error error = transport_error(no_connection(cause), kSocket);
    EXPECT_EQ(error.code, Code::docker_unavailable);
    EXPECT_NE(error.hint.find("systemctl start docker"), std::string::npos);
    EXPECT_EQ(error.cause, cause);
  }
}

TEST(DockerErrors, forbidden_socket_names_the_group) {
  const Error error = transport_error(no_connection("Permission denied"), kSocket);
  EXPECT_EQ(error.code, Code::docker_unavailable);
  EXPECT_NE(error.hint.find("docker group"), std::string::npos);
}

TEST(DockerErrors, F22_no_answer_and_a_full_queue_are_unresponsive) {
  EXPECT_EQ(transport_error({Code::timed_out, "GET / took longer", {}, {}}, kSocket).code, Code::docker_unresponsive);
  EXPECT_EQ(transport_error(no_connection("Resource temporarily unavailable"), kSocket).code,
            Code::docker_unresponsive);
}

TEST(DockerErrors, F23_broken_exchange_is_unavailable) {
  EXPECT_EQ(transport_error({Code::protocol, "broke off", {}, "end of stream"}, kSocket).code,
            Code::docker_unavailable);
}

TEST(DockerErrors, cancelled_stays_cancelled) {
  EXPECT_EQ(transport_error({Code::cancelled, "x", {}, {}}, kSocket).code, Code::cancelled);
}

TEST(DockerErrors, missing_image_is_named) {
  const Error error = refusal(404, R"({"message":"No such image: nope:1"})", Subject::engine, "nope:1");
  EXPECT_EQ(error.code, Code::image_missing);
  EXPECT_NE(error.message.find("nope:1"), std::string::npos);
  EXPECT_EQ(error.cause, "No such image: nope:1");
}

TEST(DockerErrors, missing_container_is_not_found_but_a_missing_something_else_is_not) {
  EXPECT_EQ(refusal(404, R"({"message":"No such container: x"})", Subject::container, "x").code, Code::not_found);
  EXPECT_EQ(refusal(404, "", Subject::container, "x").code, Code::not_found);
  EXPECT_EQ(refusal(404, R"({"message":"network y not found"})", Subject::container, "x").code, Code::docker_refused);
}

TEST(DockerErrors, F28_name_in_use_is_a_conflict) {
  EXPECT_EQ(
      refusal(409, R"({"message":"Conflict. The container name \"/a\" is already in use"})", Subject::engine, "a").code,
      Code::conflict);
}

TEST(DockerErrors, F38_everything_else_is_refused_in_dockers_own_words) {
  const Error error = refusal(500, "{\"message\":\"write /x: no space left on device\"}\n", Subject::container, "x");
  EXPECT_EQ(error.code, Code::docker_refused);
  EXPECT_EQ(error.cause, "write /x: no space left on device");
  EXPECT_EQ(refusal(502, "<html>\n", Subject::engine, "").cause, "<html>");
}

TEST(DockerErrors, memlock_refusal_is_told_apart) {
  Error error{Code::docker_refused, "Docker refused (HTTP 500) for x", {}, {}};
  error.cause =
      "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
      "error during container init: error setting rlimits for ready process: error setting rlimit type 8: operation "
      "not permitted: unknown";
  EXPECT_TRUE(is_memlock_refusal(error));
  error.cause = "error setting rlimits for ready process: error setting rlimit type 7: operation not permitted";
  EXPECT_FALSE(is_memlock_refusal(error));
}

}  // namespace
}  // namespace k3d::docker
