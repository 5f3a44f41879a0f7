// Which GPUs count, and how much of them is free; and what a quant's size alone tells.
#include "daemon/forecast/hardware.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/forecast/quant_list.hpp"

namespace k3d::forecast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

GpuState card(int index, Bytes used, std::vector<GpuProcess> processes = {}) {
  return {index, "GPU-" + std::to_string(index), "NVIDIA H200", 100 * kGiB, used, 0, std::move(processes)};
}

std::vector<GpuState> host() {
  return {card(0, 2 * kGiB), card(1, 80 * kGiB, {{7, "llama-server", 70 * kGiB, "ours"}, {8, "python", 5 * kGiB, ""}}),
          card(2, 10 * kGiB, {{9, "llama-server", std::nullopt, "ours"}})};
}

std::vector<Bytes> free_of(const Result<Hardware>& hardware) {
  std::vector<Bytes> free;
  for (const auto& gpu : hardware->gpus) free.push_back(gpu.free_bytes / kGiB);
  return free;
}

TEST(Hardware, what_our_engine_holds_counts_as_free) {
  EXPECT_THAT(free_of(choose_gpus({}, {}, host(), "ours")), ElementsAre(98, 90, 90));
  EXPECT_THAT(free_of(choose_gpus({}, {}, host(), "")), ElementsAre(98, 20, 90));
  EXPECT_THAT(free_of(choose_gpus({}, {}, host(), "another")), ElementsAre(98, 20, 90));
}

TEST(Hardware, listed_gpus_are_found_by_index_or_uuid_in_the_engines_order) {
  Profile profile;
  profile.gpus = {GpuChoice::listed, {"2", "GPU-0"}};
  const auto chosen = choose_gpus({}, profile, host(), "");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->gpus[0].index, 0);
  EXPECT_EQ(chosen->gpus[1].index, 2);
  EXPECT_THAT(chosen->models(), ElementsAre("NVIDIA H200"));
  profile.gpus.listed = {"4"};
  const auto none = choose_gpus({}, profile, host(), "");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("0, 1, 2"));
}

TEST(Hardware, a_question_may_name_gpus_that_are_not_there) {
  PlanQuestion question;
  question.gpus = {{std::nullopt, 90 * kGiB, 96 * kGiB}, {std::nullopt, 90 * kGiB, 0}};
  Profile profile;
  EXPECT_FALSE(needs_gpus(question, profile));
  const auto chosen = choose_gpus(question, profile, {}, "");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->gpus[1].index, 1);
  EXPECT_EQ(chosen->gpus[1].total_bytes, 90 * kGiB);
  EXPECT_THAT(chosen->models(), ElementsAre("a GPU of unknown model"));
  question.gpus->push_back({1});
  EXPECT_TRUE(needs_gpus(question, profile));
}

TEST(Hardware, none_is_none) {
  Profile profile;
  profile.gpus.choice = GpuChoice::none;
  EXPECT_FALSE(needs_gpus({}, profile));
  EXPECT_TRUE(choose_gpus({}, profile, host(), "")->gpus.empty());
  EXPECT_TRUE(needs_gpus({}, Profile()));
}

TEST(BySize, says_what_the_bytes_alone_allow) {
  Hardware hardware;
  for (int i = 0; i < 2; ++i) hardware.gpus.push_back({i, 96 * kGiB, 96 * kGiB});
  hardware.ram = planning::HostRam{100 * kGiB, 50 * kGiB};
  const auto verdict = [&](Bytes size) {
    QuantView view;
    view.total_bytes = size;
    by_size(hardware, view);
    EXPECT_FALSE(view.reasons.empty());
    return view.verdict;
  };
  EXPECT_EQ(verdict(180 * kGiB), Verdict::all_vram);
  EXPECT_EQ(verdict(181 * kGiB), Verdict::hybrid);
  EXPECT_EQ(verdict(231 * kGiB), Verdict::too_big);
  QuantView unknown;
  by_size(hardware, unknown);
  EXPECT_FALSE(unknown.verdict);
  hardware.ram.reset();
  unknown.total_bytes = 181 * kGiB;
  by_size(hardware, unknown);
  EXPECT_FALSE(unknown.verdict) << "nobody knows what the host has";
}

}  // namespace
}  // namespace k3d::forecast
