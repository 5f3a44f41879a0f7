// The calls that change settings or tell of it, against a supervisor with doubles of everything outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>

#include "api/control/control.hpp"
#include "daemon/base/json.hpp"
#include "tests/component/lifecycle/rig.hpp"
#include "tests/doubles/fake_planner.hpp"

namespace k3d::api {
namespace {

using testing::HasSubstr;

class FakeExchange final : public Exchange {
 public:
  FakeExchange(std::string method, const std::string& target, std::string body) : body_(std::move(body)) {
    head_.method = std::move(method);
    head_.target = target;
    head_.path = target.substr(0, target.find('?'));
    if (head_.path != target) head_.query = target.substr(head_.path.size() + 1);
    peer_.unix_socket = true;
    peer_.uid = 1000;
  }

  [[nodiscard]] const RequestHead& head() const override { return head_; }
  [[nodiscard]] const std::string& body() const override { return body_; }
  [[nodiscard]] const Peer& peer() const override { return peer_; }
  Task<void> reply(Response response) override {
    answer = std::move(response);
    co_return;
  }
  Task<bool> begin_stream(std::string /*content_type*/) override { co_return false; }
  Task<bool> write(std::string /*piece*/) override { co_return false; }
  [[nodiscard]] bool client_gone() const override { return false; }

  Response answer;

 private:
  RequestHead head_;
  std::string body_;
  Peer peer_;
};

class ControlCalls : public lifecycle::Rig {
 protected:
  void SetUp() override {
    boot();
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): the fixture outlives every call
    auto reload = [this](std::string asked_by, std::string reason) -> Task<Result<ReloadOutcome>> {
      reloads_.push_back(asked_by + ": " + reason);
      co_return reloaded_;
    };
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): as above
    auto host = [this](bool probe_disks) -> Task<HostDiagnosis> {
      probed_.push_back(probe_disks);
      co_return HostDiagnosis{{}, {{"clock", CheckResult::pass, "synchronised", "it matters", ""}}};
    };
    deps_.emplace(ControlDependencies{*supervisor_, containers_, {}, std::move(reload), std::move(host), &planner_});
    router_.emplace(control_routes(*deps_));
  }

  Response call(const std::string& method, const std::string& target, const std::string& body = "") {
    FakeExchange exchange(method, target, body);
    const Result<Match> match = router_->match(method, exchange.head().path);
    EXPECT_TRUE(match) << method << " " << target;
    if (!match) return {};
    exchange.set_parameters(match->parameters);
    bool done = false;
    asio::co_spawn(loop_, match->route->handler(exchange), [&done](const std::exception_ptr& exception) {
      EXPECT_FALSE(exception);
      done = true;
    });
    EXPECT_TRUE(until([&done] { return done; }));
    return exchange.answer;
  }
  Json answer(const std::string& method, const std::string& target, const std::string& body = "") {
    const Response response = call(method, target, body);
    EXPECT_EQ(response.status, 200u) << response.body;
    return parse_json(response.body).value_or(Json());
  }

  Result<ReloadOutcome> reloaded_ = ReloadOutcome{{"profiles.a"}, {}, {"a"}};
  std::vector<std::string> reloads_;
  std::vector<bool> probed_;
  doubles::FakePlanner planner_;
  std::optional<ControlDependencies> deps_;
  std::optional<Router> router_;
};

TEST_F(ControlCalls, overrides_are_set_shown_kept_and_cleared) {
  const Json set = answer("POST", "/api/v1/profiles/a/overrides", R"({"set":{"ubatch":512},"reason":"oom"})");
  EXPECT_EQ(set["name"], "a");
  EXPECT_EQ(set["overrides"].dump(), R"({"ubatch":512})");
  EXPECT_TRUE(set.contains("config"));
  EXPECT_EQ(store_.get("overrides/a")->value_or(""), R"({"ubatch":"512"})");
  EXPECT_EQ(answer("GET", "/api/v1/profiles/a")["overrides"].dump(), R"({"ubatch":512})");
  EXPECT_TRUE(answer("GET", "/api/v1/profiles/b")["overrides"].is_null());

  EXPECT_TRUE(answer("DELETE", "/api/v1/profiles/a/overrides")["overrides"].is_null());
  EXPECT_TRUE(answer("DELETE", "/api/v1/profiles/a/overrides", R"({"reason":"again"})")["overrides"].is_null());
}

TEST_F(ControlCalls, overrides_that_are_refused_change_nothing) {
  answer("POST", "/api/v1/profiles/a/overrides", R"({"set":{"ubatch":512}})");
  const Response wrong = call("POST", "/api/v1/profiles/a/overrides", R"({"set":{"image":"x"}})");
  EXPECT_EQ(wrong.status, 400u);
  EXPECT_THAT(wrong.body, HasSubstr("there is no override \\\"image\\\""));
  EXPECT_EQ(call("POST", "/api/v1/profiles/a/overrides", "").status, 400u);
  EXPECT_EQ(call("DELETE", "/api/v1/profiles/a/overrides", R"({"set":{}})").status, 400u);
  EXPECT_EQ(call("POST", "/api/v1/profiles/x/overrides", R"({"set":{"ubatch":512}})").status, 404u);
  EXPECT_EQ(call("DELETE", "/api/v1/profiles/x/overrides").status, 404u);
  EXPECT_EQ(answer("GET", "/api/v1/profiles/a")["overrides"].dump(), R"({"ubatch":512})");
}

TEST_F(ControlCalls, an_unknown_profile_is_refused_with_those_there_are) {
  for (const char* body : {"", R"({"dry_run":true})"}) {
    const Response response = call("POST", "/api/v1/profiles/x/activate", body);
    EXPECT_EQ(response.status, 404u);
    EXPECT_THAT(response.body, HasSubstr("the profiles are: a, b"));
  }
}

class AuditCalls : public ControlCalls {
 protected:
  void SetUp() override {
    ControlCalls::SetUp();
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(store_.append_audit({0, {}, "uid 1000", "activate", "p" + std::to_string(i), "", "", "accepted"}));
    }
  }
  static std::string subjects(const Json& list) {
    std::string out;
    for (const Json& item : list["items"]) out += item["subject"].get<std::string>() + " ";
    return out;
  }
};

TEST_F(AuditCalls, the_newest_come_first_and_next_leads_to_the_older_ones) {
  EXPECT_EQ(subjects(answer("GET", "/api/v1/audit")), "p4 p3 p2 p1 p0 ");
  const Json first = answer("GET", "/api/v1/audit?limit=2");
  EXPECT_EQ(subjects(first), "p4 p3 ");
  ASSERT_EQ(first["next"], "4");
  const Json second = answer("GET", "/api/v1/audit?limit=3&after=4");
  EXPECT_EQ(subjects(second), "p2 p1 p0 ");
  EXPECT_TRUE(second["next"].is_null());
}

TEST_F(AuditCalls, wrong_queries_are_refused) {
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "after=0", "after=-1", "after=op-3", "limit="}) {
    EXPECT_EQ(call("GET", "/api/v1/audit?" + std::string(query)).status, 400u) << query;
  }
}

TEST_F(ControlCalls, reload_says_who_asked_and_answers_what_it_came_to) {
  EXPECT_EQ(answer("POST", "/api/v1/reload", R"({"reason":"new quant"})").dump(),
            R"({"changed":["profiles.a"],"restart_needed":[],"drifted_profiles":["a"]})");
  answer("POST", "/api/v1/reload");
  EXPECT_EQ(reloads_, (std::vector<std::string>{"uid 1000: new quant", "uid 1000: "}));
}

TEST_F(ControlCalls, host_answers_its_checks_and_reads_from_disks_only_when_asked) {
  EXPECT_EQ(answer("GET", "/api/v1/host")["checks"][0]["code"], "clock");
  answer("GET", "/api/v1/host?probe=disk");
  EXPECT_EQ(probed_, (std::vector<bool>{false, true}));
  for (const char* query : {"?probe=", "?probe=gpu", "?probe=1"}) {
    EXPECT_EQ(call("GET", std::string("/api/v1/host") + query).status, 400u) << query;
  }
  EXPECT_EQ(probed_.size(), 2u);
}

TEST_F(ControlCalls, plan_asks_the_planner_and_answers_its_plan) {
  planner_.answer->plan.verdict = Verdict::too_big;
  planner_.answer->argv = {"--model", "m"};
  const Json plan = answer("POST", "/api/v1/plan", R"({"profile":"a","context":8192})");
  EXPECT_EQ(plan["verdict"], "too_big");
  EXPECT_EQ(plan["argv"].dump(), R"(["--model","m"])");
  ASSERT_EQ(planner_.asked.size(), 1u);
  EXPECT_EQ(planner_.asked[0].profile, "a");
  EXPECT_EQ(planner_.asked[0].set, (Overrides{{"context", "8192"}}));
}

TEST_F(ControlCalls, a_plan_that_is_refused_is_a_problem_and_a_bad_question_reaches_nobody) {
  planner_.answer = fail(Code::forbidden, "/etc/passwd is not below a configured folder");
  EXPECT_EQ(call("POST", "/api/v1/plan", R"({"path":"/etc/passwd"})").status, 403u);
  EXPECT_EQ(call("POST", "/api/v1/plan", R"({"pth":"/etc/passwd"})").status, 400u);
  EXPECT_EQ(call("POST", "/api/v1/plan").status, 400u);
  EXPECT_EQ(planner_.asked.size(), 1u);
}

TEST_F(ControlCalls, quants_and_profiles_show_what_the_planner_knows) {
  planner_.known.push_back({"kimi-k3", "UD-TQ2_0", 5, 0, Verdict::blocked, {"corrupt"}, Proof::blocked});
  EXPECT_EQ(answer("GET", "/api/v1/quants")["items"][0]["verdict"], "blocked");
  PlanAnswer known;
  known.plan.verdict = Verdict::all_vram;
  planner_.outlooks["a"] = std::make_shared<const Result<PlanAnswer>>(known);
  const Json items = answer("GET", "/api/v1/profiles")["items"];
  EXPECT_EQ(items[0]["verdict"], "all_vram");
  EXPECT_TRUE(items[1]["verdict"].is_null());
  EXPECT_EQ(answer("GET", "/api/v1/profiles/a")["plan"]["verdict"], "all_vram");
  EXPECT_TRUE(answer("GET", "/api/v1/profiles/b")["plan"].is_null());
}

TEST_F(ControlCalls, a_reload_of_a_bad_file_is_a_problem_with_its_mistakes) {
  reloaded_ = fail(Code::config_invalid, "k3d.yaml:3:1: slotz: there is no key \"slotz\" here");
  const Response response = call("POST", "/api/v1/reload");
  EXPECT_EQ(response.status, 422u);
  EXPECT_THAT(response.body, HasSubstr("k3d.yaml:3:1: slotz"));
  EXPECT_EQ(call("POST", "/api/v1/reload", "[]").status, 400u);
  EXPECT_EQ(reloads_.size(), 1u);
}

}  // namespace
}  // namespace k3d::api
