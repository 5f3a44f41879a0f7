// k3ctl against a scripted daemon: exit status, what it asks, what it prints.
#include "api/k3ctl/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/contract/audit.hpp"
#include "api/contract/launch.hpp"
#include "api/contract/problem.hpp"
#include "api/contract/status.hpp"
#include "tests/unit/k3ctl/fake_daemon.hpp"

namespace k3d::cli {
namespace {

using testing::HasSubstr;
using testing_support::Asked;
using testing_support::broken_reply;
using testing_support::FakeDaemon;
using testing_support::k3ctl;
using testing_support::Outcome;
using testing_support::reply;

FakeDaemon::Script always(const std::string& answer) {
  return [answer](const Asked&) { return answer; };
}

std::string problem(const Error& error) {
  return reply(http_status(error.code), api::problem_json(error), std::string(api::kProblemType));
}

Snapshot ready() {
  Snapshot snapshot;
  snapshot.revision = "b-1";
  snapshot.version = "9.9.9";
  snapshot.phase = Phase::ready;
  snapshot.active_profile = snapshot.target_profile = "batch";
  return snapshot;
}

TEST(Run, status_prints_a_page_or_the_raw_answer) {
  const std::string json = api::status_json(ready());
  FakeDaemon daemon(always(reply(200, json)));
  const Outcome page = k3ctl(daemon.url(), {"status"});
  EXPECT_EQ(page.status, kDone);
  EXPECT_THAT(page.out, HasSubstr("active     batch"));
  const Outcome raw = k3ctl(daemon.url(), {"status", "--json"});
  EXPECT_EQ(raw.status, kDone);
  EXPECT_EQ(raw.out, json + "\n");
}

TEST(Run, nobody_at_the_address_is_3_with_what_to_do) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"status"},
                                               {"profiles"},
                                               {"up", "b"},
                                               {"down"},
                                               {"logs"},
                                               {"ops"},
                                               {"cancel", "x"},
                                               {"events"},
                                               {"override", "x", "ubatch=1"},
                                               {"override", "x", "--clear"},
                                               {"history"},
                                               {"reload"},
                                               {"chat", "x"}}) {
    const Outcome outcome = k3ctl("unix:/nonexistent/control.sock", args);
    EXPECT_EQ(outcome.status, kUnreachable) << args[0];
    EXPECT_THAT(outcome.err, HasSubstr("systemctl start k3d")) << args[0];
    EXPECT_EQ(outcome.out, "") << args[0];
  }
}

TEST(Run, a_daemon_that_hangs_up_is_3) {
  FakeDaemon daemon(always(""));
  EXPECT_EQ(k3ctl(daemon.url(), {"status"}).status, kUnreachable);
  EXPECT_EQ(k3ctl(daemon.url(), {"up", "b"}).status, kUnreachable);
}

TEST(Run, a_refusal_is_1_with_the_advice_and_raw_with_json) {
  const std::string answer = problem({Code::unknown_profile, "there is no profile \"x\"", "there are batch, demo", ""});
  FakeDaemon daemon(always(answer));
  for (const std::vector<std::string>& args : {std::vector<std::string>{"status"},
                                               {"profiles", "x"},
                                               {"up", "x"},
                                               {"down"},
                                               {"logs"},
                                               {"ops", "x"},
                                               {"cancel", "x"},
                                               {"events"},
                                               {"override", "x", "ubatch=1"},
                                               {"override", "x", "--clear"},
                                               {"history"},
                                               {"reload"},
                                               {"chat", "x"}}) {
    const Outcome outcome = k3ctl(daemon.url(), args);
    EXPECT_EQ(outcome.status, kRefused) << args[0];
    EXPECT_THAT(outcome.err, HasSubstr("there is no profile \"x\"")) << args[0];
    EXPECT_THAT(outcome.err, HasSubstr("-> there are batch, demo")) << args[0];
  }
  const Outcome raw = k3ctl(daemon.url(), {"--json", "up", "x"});
  EXPECT_EQ(raw.status, kRefused);
  EXPECT_THAT(raw.out, HasSubstr("urn:k3d:problem:unknown_profile"));
}

TEST(Run, an_answer_that_is_no_json_is_1_and_no_crash) {
  FakeDaemon daemon(always(reply(200, "<html>")));
  for (const char* command : {"status", "profiles", "ops", "history", "reload"}) EXPECT_EQ(k3ctl(daemon.url(), {command}).status, kRefused);
  EXPECT_EQ(k3ctl(daemon.url(), {"up", "b"}).status, kRefused);
}

TEST(Run, bad_address_or_token_file_is_usage) {
  EXPECT_EQ(k3ctl("nonsense", {"status"}).status, kUsage);
  EXPECT_EQ(k3ctl("unix:/x", {"status", "--token-file", "/nonexistent"}).status, kUsage);
}

TEST(Run, names_are_encoded_into_the_path) {
  FakeDaemon daemon(always(reply(404, "{}")));
  k3ctl(daemon.url(), {"profiles", "../x y"});
  ASSERT_EQ(daemon.asked().size(), 1u);
  EXPECT_EQ(daemon.asked()[0].line(), "GET /api/v1/profiles/..%2Fx%20y");
}

TEST(Run, profiles_are_a_table) {
  FakeDaemon daemon(always(reply(200, R"({"items":[{"name":"batch","state":"active","model":"kimi-k3","quant":"Q2",)"
                                      R"("context":131072,"slots":8,"files":{"present_bytes":5,"total_bytes":5},)"
                                      R"("image":"i:1","image_present":false}],"next":null})")));
  const Outcome outcome = k3ctl(daemon.url(), {"profiles"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, testing::ContainsRegex("batch  active  kimi-k3  Q2 +131072 +8 +5 B  i:1 \\(missing\\)"));
}

TEST(Run, a_profile_and_the_table_show_overrides) {
  const std::string profile = R"({"name":"batch","state":"stopped","overrides":{"ubatch":2048,"cache_type":"q8_0"}})";
  FakeDaemon one(always(reply(200, profile)));
  EXPECT_THAT(k3ctl(one.url(), {"profiles", "batch"}).out, HasSubstr("overrides         ubatch=2048 cache_type=q8_0\n"));
  FakeDaemon all(always(reply(200, R"({"items":[)" + profile + R"(],"next":null})")));
  EXPECT_THAT(k3ctl(all.url(), {"profiles"}).out, HasSubstr("  ubatch=2048 cache_type=q8_0\n"));
}

TEST(Run, override_asks_for_what_was_typed_and_says_when_it_counts) {
  FakeDaemon daemon(always(reply(200, R"({"name":"batch","state":"active","overrides":{"ubatch":2048}})")));
  const Outcome set = k3ctl(daemon.url(), {"override", "batch", "ubatch=2048", "cache_ram=8GiB", "--reason", "oom"});
  EXPECT_EQ(set.status, kDone);
  EXPECT_EQ(set.out,
            "batch has ubatch=2048, from its next start on\n"
            "Load it again now: k3ctl up batch --restart\n");
  ASSERT_EQ(daemon.asked().size(), 1u);
  EXPECT_EQ(daemon.asked()[0].line(), "POST /api/v1/profiles/batch/overrides");
  EXPECT_EQ(daemon.asked()[0].body, R"({"set":{"cache_ram":"8GiB","ubatch":2048},"reason":"oom"})");
}

TEST(Run, override_clear_deletes) {
  FakeDaemon daemon(always(reply(200, R"({"name":"batch","state":"stopped","overrides":null})")));
  const Outcome cleared = k3ctl(daemon.url(), {"override", "batch", "--clear", "--reason", "done"});
  EXPECT_EQ(cleared.status, kDone);
  EXPECT_EQ(cleared.out, "batch is as configured, from its next start on\n");
  EXPECT_EQ(daemon.asked()[0].line(), "DELETE /api/v1/profiles/batch/overrides");
  EXPECT_EQ(daemon.asked()[0].body, R"({"reason":"done"})");
  EXPECT_THAT(daemon.asked()[0].head, HasSubstr("application/json"));
  EXPECT_EQ(k3ctl(daemon.url(), {"override", "batch", "--clear", "--json"}).out,
            "{\"name\":\"batch\",\"state\":\"stopped\",\"overrides\":null}\n");
}

TEST(Run, history_is_a_table_made_safe) {
  const AuditEntry entry{7, *parse_time("2026-11-30T22:37:57Z"), "uid 1000", "activate", "batch", "a \x1b[2Jreason",
                         "op-1", "gpus_held"};
  FakeDaemon daemon(always(reply(200, api::audit_json({entry}, true))));
  const Outcome outcome = k3ctl(daemon.url(), {"history", "--limit", "1"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_EQ(daemon.asked()[0].line(), "GET /api/v1/audit?limit=1");
  EXPECT_THAT(outcome.out, testing::StartsWith("WHEN "));
  EXPECT_THAT(outcome.out, HasSubstr("  uid 1000  activate  batch    gpus_held  a \\x1b[2Jreason\n"));
}

TEST(Run, reload_says_what_changed_and_what_to_do_about_it) {
  FakeDaemon daemon(
      always(reply(200, api::reload_json({{"profiles.batch", "control.listen"}, {"control.listen"}, {"batch"}}))));
  const Outcome outcome = k3ctl(daemon.url(), {"reload", "--reason", "x"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_EQ(outcome.out,
            "changed: profiles.batch\n"
            "changed: control.listen\n"
            "needs a restart of k3d: control.listen\n"
            "  -> systemctl restart k3d   # the engine stays loaded\n"
            "batch runs otherwise than it is configured now\n"
            "  -> k3ctl up batch --restart   # loads it again\n");
  EXPECT_EQ(daemon.asked()[0].line(), "POST /api/v1/reload");
  EXPECT_EQ(daemon.asked()[0].body, R"({"reason":"x"})");
  FakeDaemon same(always(reply(200, api::reload_json({}))));
  EXPECT_EQ(k3ctl(same.url(), {"reload"}).out, "nothing changed\n");
}

TEST(Run, a_refused_reload_shows_a_mistake_a_line) {
  FakeDaemon daemon(always(problem({Code::config_invalid, "k3d.yaml:1:1: a: wrong\nk3d.yaml:2:1: b: wrong", "", ""})));
  const Outcome outcome = k3ctl(daemon.url(), {"reload"});
  EXPECT_EQ(outcome.status, kRefused);
  EXPECT_EQ(outcome.err, "k3ctl: k3d.yaml:1:1: a: wrong\n  k3d.yaml:2:1: b: wrong\n");
}

TEST(Run, dry_run_prints_the_docker_line_alone) {
  Launch launch;
  launch.profile = "batch";
  launch.container.name = "k3d-default-3";
  launch.container.image = "engine:1";
  launch.container.args = {"--alias", "a b"};
  FakeDaemon daemon(always(reply(200, api::dry_run_json(launch, {"docker", "run", "--detach", "engine:1", "--alias", "a b"}, 2))));
  const Outcome outcome = k3ctl(daemon.url(), {"up", "batch", "--dry-run"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, testing::StartsWith("docker run --detach"));
  EXPECT_THAT(outcome.out, testing::EndsWith("engine:1 --alias 'a b'\n"));
  EXPECT_THAT(outcome.err, HasSubstr("2 answers in flight"));
  EXPECT_THAT(daemon.asked()[0].body, HasSubstr("\"dry_run\":true"));
  EXPECT_THAT(daemon.asked()[0].head, HasSubstr("application/json"));
}

TEST(Run, F49_logs_are_made_safe_line_by_line) {
  FakeDaemon daemon(always(reply(200, "\x1b[32mok\x1b[0m\r\n\x1b]0;x\x07\nlast without newline", "text/plain")));
  const Outcome outcome = k3ctl(daemon.url(), {"logs", "--tail", "5", "--attempt", "2"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_EQ(outcome.out, "ok\n\\x1b]0;x\\x07\nlast without newline\n");
  EXPECT_EQ(daemon.asked()[0].target, "/api/v1/logs?attempt=2&tail=5");
}

TEST(Run, logs_that_break_off_are_3_with_what_came) {
  FakeDaemon daemon(always(broken_reply("one\ntw")));
  const Outcome outcome = k3ctl(daemon.url(), {"logs", "-f"});
  EXPECT_EQ(outcome.status, kUnreachable);
  EXPECT_EQ(outcome.out, "one\ntw\n");
  EXPECT_THAT(daemon.asked()[0].target, HasSubstr("follow=1"));
}

TEST(Run, events_are_lines_until_the_daemon_stays_away) {
  const std::string stream = "event: status\nid: b-1\ndata: " + api::status_json(ready()) +
                             "\n\n: keep-alive\n\nevent: log\nid: b-1\ndata: {\"attempt\":1,\"line\":\"hello\"}\n\n";
  FakeDaemon daemon(always(reply(200, stream, "text/event-stream")));
  const Outcome outcome = k3ctl(daemon.url(), {"events"});
  EXPECT_EQ(outcome.status, kUnreachable);
  EXPECT_THAT(outcome.out, HasSubstr("status  ready, active batch\n"));
  EXPECT_THAT(outcome.out, HasSubstr("log  hello\n"));
  const Outcome raw = k3ctl(daemon.url(), {"events", "--json"});
  EXPECT_THAT(raw.out, HasSubstr(R"({"event":"log","id":"b-1","data":{"attempt":1,"line":"hello"}})"));
}

class Chat : public testing::Test {
 protected:
  /// A chat with a proxy that answers `answer`; the fake daemon's unix socket stands in for the proxy's address.
  Outcome chat(const std::string& answer, std::vector<std::string> more = {}) {
    FakeDaemon proxy(always(answer));
    std::vector<std::string> args{"chat", "-", "--proxy", proxy.url()};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = k3ctl("unix:/nonexistent", args, {}, milliseconds(0), "Say \"hi\"");
    asked_ = proxy.asked();
    return outcome;
  }
  std::vector<Asked> asked_;
};

TEST_F(Chat, streams_the_answer_and_keeps_thoughts_apart) {
  const Outcome outcome =
      chat(reply(200,
                 "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"
                 "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"
                 "data: {\"choices\":[{\"delta\":{\"content\":\"lo\\u001b[2J\"},\"finish_reason\":\"stop\"}]}\n\n"
                 "data: [DONE]\n\n",
                 "text/event-stream"),
           {"--model", "batch", "--max-tokens", "7"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_EQ(outcome.out, "Hello\\x1b[2J\n");
  EXPECT_EQ(outcome.err, "hm\n");
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].line(), "POST /v1/chat/completions");
  EXPECT_EQ(asked_[0].body, R"({"model":"batch","messages":[{"role":"user","content":"Say \"hi\""}],"stream":true,)"
                            R"("max_tokens":7})");
}

TEST_F(Chat, an_answer_that_breaks_off_is_1) {
  const Outcome outcome = chat(broken_reply("data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"));
  EXPECT_EQ(outcome.status, kRefused);
  EXPECT_EQ(outcome.out, "Hel\n");
  EXPECT_THAT(outcome.err, HasSubstr("broke off"));
}

TEST_F(Chat, a_refusal_of_the_proxy_is_1_with_its_words) {
  const Outcome outcome =
      chat(reply(503, R"({"error":{"message":"no profile is active","type":"x","code":"no_active_profile"}})"));
  EXPECT_EQ(outcome.status, kRefused);
  EXPECT_THAT(outcome.err, HasSubstr("no profile is active [no_active_profile]"));
}

TEST_F(Chat, an_error_within_the_stream_is_1) {
  const Outcome outcome = chat(reply(200, "data: {\"error\":{\"message\":\"out of slots\"}}\n\n", "text/event-stream"));
  EXPECT_EQ(outcome.status, kRefused);
  EXPECT_THAT(outcome.err, HasSubstr("out of slots"));
}

TEST(ChatAddress, comes_from_the_status) {
  Snapshot snapshot = ready();
  snapshot.proxy.listen = {"127.0.0.1:1"};
  FakeDaemon daemon(always(reply(200, api::status_json(snapshot))));
  const Outcome outcome = k3ctl(daemon.url(), {"chat", "x"});
  EXPECT_EQ(outcome.status, kUnreachable);
  EXPECT_THAT(outcome.err, HasSubstr("the proxy does not answer at 127.0.0.1:1"));
  snapshot.proxy.listen = {};
  FakeDaemon silent(always(reply(200, api::status_json(snapshot))));
  EXPECT_EQ(k3ctl(silent.url(), {"chat", "x"}).status, kRefused);
}

}  // namespace
}  // namespace k3d::cli
