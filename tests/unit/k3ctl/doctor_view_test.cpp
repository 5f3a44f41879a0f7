#include "api/k3ctl/doctor_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/contract/host.hpp"
#include "daemon/base/json.hpp"
#include "tests/unit/k3ctl/fake_daemon.hpp"

namespace k3d::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::Asked;
using testing_support::FakeDaemon;
using testing_support::k3ctl;
using testing_support::reply;

std::string host(const std::vector<HostCheck>& checks) { return api::host_json({{}, checks}); }

std::string answer() {
  return host({{"gpu_driver", CheckResult::pass, "answers", "it matters", ""},
               {"gpu_mig", CheckResult::fail, "GPU 0: on", "can't be used", "`nvidia-smi -mig 0`"},
               {"docker_live_restore", CheckResult::warn, "off", "ends the model", "set it"},
               {"disk_read_speed", CheckResult::skip, "not measured", "a load", "k3ctl doctor --probe"},
               {"odd_thing", CheckResult::pass, "new", "why", ""}});
}

TEST(DoctorPage, groups_and_explains_what_is_wrong) {
  EXPECT_EQ(doctor_page(Json::parse(answer()), false),
            "GPUs\n"
            "  ok    gpu_driver              answers\n"
            "  FAIL  gpu_mig                 GPU 0: on\n"
            "          why: can't be used\n"
            "          -> `nvidia-smi -mig 0`\n"
            "Docker\n"
            "  warn  docker_live_restore     off\n"
            "          why: ends the model\n"
            "          -> set it\n"
            "Disks\n"
            "  -     disk_read_speed         not measured\n"
            "          -> k3ctl doctor --probe\n"
            "odd\n"
            "  ok    odd_thing               new\n"
            "\n"
            "1 failed, 1 to look at, 2 fine, 1 can't be told\n");
}

TEST(DoctorPage, has_colours_only_when_asked_and_obeys_nobody_else) {
  const Json page = Json::parse(host({{"gpu_memory", CheckResult::fail, "held by \x1b[31mevil\x07", "w", "f"}}));
  EXPECT_THAT(doctor_page(page, true), HasSubstr("\x1b[31;1mFAIL\x1b[0m"));
  EXPECT_THAT(doctor_page(page, false), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07")), HasSubstr("evil")));
}

TEST(Doctor, ends_with_1_when_a_check_fails_and_with_0_otherwise) {
  const std::string fine = host({{"clock", CheckResult::warn, "not synchronised", "w", "f"}});
  for (const std::string& body : {answer(), fine}) {
    FakeDaemon daemon([&body](const Asked&) { return reply(200, body); });
    const int status = body == fine ? kDone : kRefused;
    EXPECT_EQ(k3ctl(daemon.url(), {"doctor"}).status, status);
    const auto json = k3ctl(daemon.url(), {"--json", "doctor"});
    EXPECT_EQ(json.status, status);
    EXPECT_EQ(json.out, body + "\n");
  }
}

TEST(Doctor, colours_come_with_a_terminal) {
  FakeDaemon daemon([](const Asked&) { return reply(200, answer()); });
  EXPECT_THAT(k3ctl(daemon.url(), {"doctor"}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(k3ctl(daemon.url(), {"doctor"}, {true, 80}).out, HasSubstr("\x1b[33mwarn"));
}

TEST(Doctor, probes_only_when_asked) {
  FakeDaemon daemon([](const Asked&) { return reply(200, answer()); });
  k3ctl(daemon.url(), {"doctor"});
  k3ctl(daemon.url(), {"doctor", "--probe"});
  EXPECT_EQ(daemon.asked().at(0).line(), "GET /api/v1/host");
  EXPECT_EQ(daemon.asked().at(1).line(), "GET /api/v1/host?probe=disk");
}

TEST(Doctor, without_a_daemon_it_says_how_to_start_one) {
  const auto gone = k3ctl("unix:/nonexistent/k3d.sock", {"doctor"});
  EXPECT_EQ(gone.status, kUnreachable);
  EXPECT_THAT(gone.err, HasSubstr("start"));
}

TEST(Doctor, an_answer_of_another_kind_is_told) {
  FakeDaemon daemon([](const Asked&) { return reply(200, "<html>"); });
  EXPECT_EQ(k3ctl(daemon.url(), {"doctor"}).status, kRefused);
}

}  // namespace
}  // namespace k3d::cli
