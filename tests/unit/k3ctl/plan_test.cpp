// k3ctl plan and quants: the words, the page, and the exit status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "api/contract/plan.hpp"
#include "api/contract/quants.hpp"
#include "api/k3ctl/plan_question.hpp"
#include "api/k3ctl/plan_view.hpp"
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

PlanAnswer answer(Verdict verdict) {
  PlanAnswer made;
  Plan& plan = made.plan;
  plan.verdict = verdict;
  plan.reasons = {"GPU 1 is the \x1b[31mfullest"};
  plan.warnings = {"8 slots are many"};
  plan.devices = {{0, 47, 50'000'000'000, 10'000'000'000, 5'000'000'000, 5'000'000'000, 100'000'000'000, 30'000'000'000},
                  {1, 47, 90'000'000'000, 10'000'000'000, 5'000'000'000, 5'000'000'000, 100'000'000'000, -10'000'000'000}};
  plan.host = {1'000'000'000, 0, 500'000'000, 64'000'000'000, 1'000'000'000'000, 934'500'000'000};
  plan.placement = {PlacementMode::fit, std::nullopt, {47, 47}, {6144}, {}, 0};
  plan.capacity = {{8192, "f16", 12}, {8192, "q8_0", 20}, {32768, "f16", 3}};
  plan.batch = plan.ubatch = 2048;
  plan.shards = 16;
  plan.total_bytes = 140'000'000'000;
  made.present_bytes = plan.total_bytes;
  return made;
}

TEST(Gpus, are_written_by_size_index_or_none) {
  EXPECT_TRUE(parse_gpus("none")->empty());
  const auto sizes = parse_gpus("2x97887MiB,1x48GiB,24GiB");
  ASSERT_TRUE(sizes);
  ASSERT_EQ(sizes->size(), 4u);
  EXPECT_EQ(sizes->at(1).free_bytes, 97887 * kMiB);
  EXPECT_EQ(sizes->at(3).total_bytes, 24 * kGiB);
  EXPECT_EQ(parse_gpus("0,3")->at(1).index, 3);
  for (const char* wrong : {"", ",", "x", "0x96GiB", "65x96GiB", "8x", "x96GiB", "8x0", "-1", "64", "9999x1GiB", "8x96GiB,,", "many"}) {
    EXPECT_FALSE(parse_gpus(wrong)) << wrong;
  }
}

TEST(Question, needs_no_daemon_only_when_it_says_everything) {
  PlanWords words;
  words.path = "m.gguf";
  words.gpus = "8x96GiB";
  EXPECT_TRUE(needs_no_daemon(*question_of(words)));
  EXPECT_TRUE(question_of(words)->path.is_absolute());
  words.gpus = "0";
  EXPECT_FALSE(needs_no_daemon(*question_of(words))) << "this host's GPUs";
  words.gpus = "none";
  EXPECT_TRUE(needs_no_daemon(*question_of(words)));
  words.profile = "batch";
  EXPECT_FALSE(needs_no_daemon(*question_of(words)));
  words.n_cpu_moe = "some";
  EXPECT_FALSE(question_of(words));
}

TEST(PlanPage, begins_with_the_verdict_and_has_bars_only_on_a_terminal) {
  const std::string plain = plan_page(answer(Verdict::too_big), {});
  EXPECT_TRUE(plain.starts_with("It does NOT fit\n  GPU 1 is the fullest\n")) << plain;
  EXPECT_THAT(plain, AllOf(HasSubstr("-10.0 GB"), HasSubstr("--fit on --fit-target 6144"), HasSubstr("warning: 8 slots"),
                           HasSubstr("934.5 GB of 1.0 TB left"), Not(HasSubstr("[#")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(plain, HasSubstr("CONTEXT  f16  q8_0\n   8192   12    20\n  32768    3     -\n"));
  const std::string live = plan_page(answer(Verdict::all_vram), {true, 80});
  EXPECT_THAT(live, AllOf(HasSubstr("[#"), HasSubstr("\x1b[32;1mIt runs, all in VRAM")));
}

TEST(PlanPage, a_plan_without_figures_is_its_reasons) {
  PlanAnswer blocked;
  blocked.plan.reasons = {"nobody knows this model"};
  EXPECT_EQ(plan_page(blocked, {true, 80}), "\x1b[31;1mIt must NOT run\x1b[0m\n  nobody knows this model\n");
}

TEST(PlanBar, shows_the_parts_of_the_free_memory) {
  const PlanAnswer made = answer(Verdict::too_big);
  EXPECT_EQ(plan_bar(made.plan.devices[0], 20), "##########++=~......");
  EXPECT_EQ(plan_bar(made.plan.devices[1], 20), "##################+!");
  EXPECT_EQ(plan_bar(PlannedDevice(), 4), "....");
}

TEST(Plan, asks_the_daemon_and_ends_by_the_verdict) {
  for (const auto& [verdict, status] : {std::pair{Verdict::all_vram, 0}, {Verdict::hybrid, 0}, {Verdict::too_big, 1},
                                        {Verdict::blocked, 1}}) {
    const std::string body = api::plan_json(answer(verdict));
    FakeDaemon daemon([&body](const Asked&) { return reply(200, body); });
    EXPECT_EQ(k3ctl(daemon.url(), {"plan", "batch"}).status, status);
    EXPECT_EQ(k3ctl(daemon.url(), {"--json", "plan", "batch"}).out, body + "\n");
    EXPECT_THAT(k3ctl(daemon.url(), {"plan", "batch", "--explain"}).out, Not(HasSubstr("\x1b")));
    EXPECT_EQ(daemon.asked().front().body, R"({"profile":"batch"})");
  }
}

TEST(Plan, without_a_daemon_says_what_is_wrong_with_the_file) {
  const auto done = k3ctl("unix:/nowhere/k3d.sock", {"plan", "--path", "/nowhere/m.gguf", "--gpus", "8x96GiB"});
  EXPECT_EQ(done.status, kRefused);
  EXPECT_THAT(done.err, HasSubstr("/nowhere/m.gguf"));
  EXPECT_EQ(k3ctl("unix:/nowhere/k3d.sock", {"plan", "--path", "/nowhere/m.gguf"}).status, kUnreachable);
}

TEST(Plan, words_that_say_nothing_or_nonsense_are_usage) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"plan"},
                                               {"plan", "a", "--gpus", "many"},
                                               {"plan", "a", "--ram", "much"},
                                               {"plan", "a", "--n-cpu-moe", "x"},
                                               {"plan", "a", "--tensor-split", "x"},
                                               {"plan", "a", "--n-cpu-moe", "3", "--fit-target", "4096"}}) {
    EXPECT_EQ(k3ctl("unix:/nowhere/k3d.sock", args).status, kUsage) << args.back();
  }
}

TEST(Quants, are_a_table_with_the_reasons_of_what_does_not_run) {
  const std::string body = api::quants_json({{"kimi-k3", "UD-TQ2_0", 551'455'107'488, 0, Verdict::blocked, {"it is corrupt"}, Proof::blocked},
                                             {"kimi-k3", "UD-IQ2_XXS", 711'067'773'664, 711'067'773'664, Verdict::all_vram,
                                              {"all in VRAM"}, Proof::elsewhere}});
  FakeDaemon daemon([&body](const Asked&) { return reply(200, body); });
  const auto done = k3ctl(daemon.url(), {"quants"});
  EXPECT_EQ(done.status, kDone);
  EXPECT_THAT(done.out, AllOf(HasSubstr("FITS HERE?"), HasSubstr("yes, in VRAM"), HasSubstr("UD-TQ2_0: it is corrupt"),
                              HasSubstr("elsewhere"), Not(HasSubstr("all in VRAM\n"))));
}

}  // namespace
}  // namespace k3d::cli
