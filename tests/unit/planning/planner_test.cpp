// What a plan says where things are scarce, unknown or wrong.
#include "daemon/planning/planner.hpp"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "daemon/planning/explain.hpp"
#include "tests/unit/planning/memory_golden.hpp"
#include "tests/unit/planning/memory_plain.hpp"
#include "tests/unit/planning/planner_inputs.hpp"

namespace k3d::planning::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string words(const Plan& made) {
  return fmt::format("{}", fmt::join(made.warnings, "\n"));
}

TEST(Planner, HeadersThatSayNothingAreBlockedWithTheReason) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  inputs.model = std::make_shared<const ModelHeaders>();
  EXPECT_EQ(plan(inputs).verdict, Verdict::blocked);
  EXPECT_THAT(plan(inputs).reasons.front(), HasSubstr("general.architecture"));
  inputs.model = nullptr;
  EXPECT_EQ(plan(inputs).verdict, Verdict::blocked);
  EXPECT_THAT(explain(plan(inputs)), HasSubstr("It can't be planned"));
}

TEST(Planner, ACacheTypeThatTheModelCantHaveIsBlocked) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  for (const char* type : {"fp8", "q4_K", ""}) {
    inputs.profile.cache_type = type;
    EXPECT_EQ(plan(inputs).verdict, Verdict::blocked) << type;
  }
}

TEST(Planner, MoreSlotsThanTheEngineHasAreBlocked) {
  PlanInputs inputs = reference("UD-IQ1_M", 257, 65536);
  EXPECT_EQ(plan(inputs).verdict, Verdict::blocked);
  inputs.profile.slots = 0;
  EXPECT_EQ(plan(inputs).verdict, Verdict::blocked);
}

/// Whatever the numbers of a profile and of headers are, there is an answer; sanitizers watch the arithmetic.
TEST(Planner, ExtremeNumbersHaveAnAnswer) {
  const int most = std::numeric_limits<int>::max();
  PlanInputs inputs = reference("UD-IQ2_XXS", 256, most);
  inputs.profile.ubatch = most;
  EXPECT_EQ(plan(inputs).verdict, Verdict::blocked);
  inputs.profile.ubatch = 1 << 20;
  inputs.draft = DraftModel{std::make_shared<const ModelHeaders>(draft_headers()), most};
  for (const PlacementMode mode : {PlacementMode::fit, PlacementMode::n_cpu_moe, PlacementMode::override_tensors}) {
    inputs.profile.placement.mode = mode;
    EXPECT_EQ(plan(inputs).verdict, Verdict::too_big);
  }
  inputs = reference("UD-IQ2_XXS", 1, 1);
  inputs.profile.ubatch = 1;
  inputs.profile.placement.fit_target_mib = {most};
  EXPECT_FALSE(explain(plan(inputs)).empty());
  inputs.profile.placement.fit_target_mib = {-1};
  EXPECT_FALSE(explain(plan(inputs)).empty());
  inputs.profile.placement.mode = PlacementMode::n_cpu_moe;
  inputs.profile.placement.tensor_split = {0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_FALSE(explain(plan(inputs)).empty());
  inputs.profile.placement.tensor_split = {1, 1};
  EXPECT_FALSE(explain(plan(inputs)).empty());
  inputs.profile.placement.tensor_split.assign(16, 1);
  EXPECT_EQ(plan(inputs).devices.size(), 8U);
}

TEST(Planner, RulesThatCantBeReadAreBlocked) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  inputs.profile.placement.mode = PlacementMode::override_tensors;
  inputs.profile.placement.tensors = {"(=CPU"};
  EXPECT_EQ(plan(inputs).verdict, Verdict::blocked);
}

TEST(Planner, TheFirstLineThatBreaksComesFirst) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  inputs.profile.placement.mode = PlacementMode::n_cpu_moe;
  inputs.profile.placement.n_cpu_moe = 0;
  inputs.profile.placement.tensor_split = {1, 1, 1, 1, 40, 1, 1, 1};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::too_big);
  ASSERT_EQ(made.breaks.size(), 1U);
  EXPECT_EQ(made.breaks.front().device, 4);
  EXPECT_GT(made.breaks.front().need_bytes, made.breaks.front().have_bytes);
  EXPECT_THAT(made.reasons.front(), HasSubstr("GPU 4 would need"));
  EXPECT_TRUE(made.capacity.empty());
}

TEST(Planner, RamThatIsTooSmallForTheExpertsBreaks) {
  PlanInputs inputs = reference("UD-Q4_K_XL", 4, 65536);
  inputs.ram = HostRam{256 * kGiB, 250 * kGiB};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::too_big);
  ASSERT_FALSE(made.breaks.empty());
  EXPECT_EQ(made.breaks.back().resource, PlanBreak::Resource::ram);
  EXPECT_EQ(made.breaks.back().have_bytes, 250 * kGiB);
}

TEST(Planner, Q4KXlRunsWithAbout640GibOfExpertsInATebibyteOfRam) {
  const Plan made = plan(reference("UD-Q4_K_XL", 4, 65536));
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);
  EXPECT_NEAR(static_cast<double>(made.host.model_bytes) / kGiB, 700, 70);
}

TEST(Planner, RamThatIsShortForTheCachesIsAWarning) {
  PlanInputs inputs = reference("UD-Q2_K_XL", 8, 65536);
  inputs.ram = HostRam{256 * kGiB, 170 * kGiB};
  inputs.profile.ctx_checkpoints = 32;
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);
  EXPECT_LT(made.host.left_bytes, 0);
  EXPECT_THAT(words(made), HasSubstr("RAM is short"));
}

TEST(Planner, AFitIsNotRefusedForWhatItsMarginIsFor) {
  PlanInputs tight = reference("UD-Q2_K_XL", 4, 65536);
  tight.profile.placement.fit_target_mib = {512};
  const Plan made = plan(tight);
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);
  EXPECT_THAT(made.warnings, Contains(HasSubstr("may run short")));
  PlanInputs shared = reference("UD-IQ2_XXS", 4, 65536);
  shared.gpus[3].free_bytes = 200 * kMiB;
  const Plan without = plan(shared);
  EXPECT_TRUE(without.breaks.empty()) << explain(without);
  EXPECT_EQ(without.devices[3].layers, 0);
  EXPECT_GE(without.devices[3].left_bytes, 0) << "CUDA takes nothing where nothing is";
}

TEST(Planner, AutomaticMarginsCoverTheScratchOfLargeSteps) {
  PlanInputs inputs = reference("UD-Q2_K_XL", 4, 65536);
  inputs.profile.ubatch = 8192;
  const Plan made = plan(inputs);
  EXPECT_TRUE(made.breaks.empty()) << explain(made);
  for (const PlannedDevice& device : made.devices) EXPECT_GE(device.left_bytes, 0) << device.index;
}

TEST(Planner, NobodyIsRefusedForAFigureThatIsKnownToBeTooHigh) {
  PlanInputs inputs = reference("UD-Q2_K_XL", 1, 4096);
  auto headers = std::make_shared<ModelHeaders>(draft_headers());
  const std::string name = headers->text("general.architecture").value();
  headers->metadata[name + ".attention.sliding_window"] = std::int64_t{128};
  inputs.model = headers;
  inputs.profile.context = 1 << 20;
  inputs.gpus.resize(1);
  inputs.gpus[0].free_bytes = 12 * kGiB;
  inputs.profile.placement.mode = PlacementMode::n_cpu_moe;
  inputs.profile.placement.n_cpu_moe = 0;
  const Plan made = plan(inputs);
  EXPECT_TRUE(made.breaks.empty()) << explain(made);
  EXPECT_LT(made.devices[0].left_bytes, 0) << "counted in full it would not fit";
  EXPECT_THAT(made.warnings, Contains(HasSubstr("may run short")));
}

TEST(Planner, WhatOthersHoldIsNamed) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  inputs.gpus[3].free_bytes -= 40'000'000'000;
  const Plan made = plan(inputs);
  EXPECT_THAT(words(made), HasSubstr("GPU 3: 40.0 GB are held by others"));
  EXPECT_EQ(made.verdict, Verdict::all_vram) << explain(made);
  EXPECT_LT(made.devices[3].layers, made.devices[2].layers);
}

TEST(Planner, SlotsPastTheKneeAndDraftsForManyAreWarnedOf) {
  PlanInputs inputs = reference("UD-IQ1_M", 16, 65536);
  EXPECT_THAT(words(plan(inputs)), HasSubstr("past the knee"));
  inputs.profile.slots = 4;
  EXPECT_THAT(words(plan(inputs)), Not(HasSubstr("past the knee")));
  inputs.draft = DraftModel{std::make_shared<const ModelHeaders>(draft_headers()), 3};
  EXPECT_THAT(words(plan(inputs)), HasSubstr("isn't worth it at 4 slots"));
  inputs.profile.slots = 2;
  EXPECT_THAT(words(plan(inputs)), Not(HasSubstr("worth")));
}

TEST(Planner, DraftsWithoutAModelKeepNoSnapshots) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 2, 16384);
  const Plan plain = plan(inputs);
  inputs.draft = DraftModel{nullptr, 7};
  const Plan ngrams = plan(inputs);
  EXPECT_EQ(ngrams.devices[0].context_bytes, plain.devices[0].context_bytes);
}

TEST(Planner, ADraftWhoseFileIsNotKnownStillHasItsSnapshots) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 2, 16384);
  const Plan plain = plan(inputs);
  inputs.profile.speculative = Speculative{"draft-dspark", "dspark-k3", "last", 7};
  const Plan drafted = plan(inputs);
  EXPECT_GT(drafted.devices[0].context_bytes, 5 * plain.devices[0].context_bytes);
  EXPECT_THAT(words(drafted), HasSubstr("its file isn't known"));
}

TEST(Planner, AMarginBelowWhatCudaTakesIsWarnedOf) {
  PlanInputs inputs = reference("UD-IQ1_M", 4, 65536);
  inputs.profile.placement.fit_target_mib = {1024};
  EXPECT_THAT(words(plan(inputs)), HasSubstr("a margin of 1024 MiB is little"));
}

TEST(Planner, BatchesFollowThePlacementUnlessTheyAreGiven) {
  PlanInputs inputs = reference("UD-Q2_K_XL", 4, 65536);
  EXPECT_EQ(plan(inputs).ubatch, 4096);
  inputs.profile.ubatch = 1024;
  EXPECT_EQ(plan(inputs).ubatch, 1024);
  EXPECT_EQ(plan(inputs).batch, 2048);
  inputs = reference("UD-IQ1_M", 4, 65536);
  EXPECT_EQ(plan(inputs).ubatch, 2048);
}

TEST(Planner, AnotherMarginPerGpuIsKept) {
  PlanInputs inputs = reference("UD-IQ1_M", 4, 65536);
  inputs.profile.placement.fit_target_mib = {4096, 4096, 4096, 4096, 4096, 4096, 4096, 60000};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.placement.fit_target_mib.back(), 60000);
  EXPECT_GE(made.devices.back().left_bytes, static_cast<std::int64_t>(55 * kGiB));
}

TEST(Planner, WithoutGpusTheCpuComputesIfTheRamHoldsIt) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  inputs.gpus.clear();
  const Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::hybrid);
  EXPECT_THAT(made.reasons.front(), HasSubstr("no GPU"));
  inputs.ram = HostRam{512 * kGiB, 500 * kGiB};
  EXPECT_EQ(plan(inputs).verdict, Verdict::too_big);
}

TEST(Planner, MeasuredBuffersMakeAMeasuredPlan) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  EXPECT_EQ(plan(inputs).basis, PlanBasis::computed);
  inputs.measured = MeasuredCompute{std::vector<Bytes>(8, 1234 * kMiB), 56 * kMiB};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.basis, PlanBasis::measured);
  EXPECT_EQ(made.devices[5].compute_bytes, 1234 * kMiB);
  EXPECT_EQ(made.host.compute_bytes, 56 * kMiB);
}

TEST(Planner, LoadingTakesAsLongAsTheDiskNeeds) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 65536);
  EXPECT_FALSE(plan(inputs).load_seconds.has_value());
  inputs.load_bytes_per_second = 1.2e9;
  EXPECT_NEAR(plan(inputs).load_seconds.value_or(0), 588, 10);  // 9.8 minutes on the reference host
}

TEST(Planner, SingleAndUnequalGpusArePlanned) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 1, 8192);
  inputs.gpus = {{0, 143771 * kMiB, 143155 * kMiB}};
  Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);
  inputs.gpus = {{2, 143771 * kMiB, 143155 * kMiB}, {5, 24564 * kMiB, 24000 * kMiB}};
  made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);
  EXPECT_EQ(made.devices[1].index, 5);
  EXPECT_GT(made.devices[0].model_bytes, made.devices[1].model_bytes);
}

TEST(Planner, AGpuThatIsFullHoldsNothing) {
  PlanInputs inputs = reference("UD-IQ1_M", 4, 65536);
  inputs.gpus[2].free_bytes = 100 * kMiB;
  const Plan made = plan(inputs);
  EXPECT_EQ(made.devices[2].layers, 0) << explain(made);
}

TEST(Planner, PlainModelsArePlannedAndSayWhatIsAnEstimate) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 32768);
  inputs.model = std::make_shared<const ModelHeaders>(qwen3_moe(94));
  Plan made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::all_vram) << explain(made);
  EXPECT_THAT(words(made), HasSubstr("compute buffers of qwen3moe models are an estimate"));
  inputs.model = std::make_shared<const ModelHeaders>(dense_llama(80, 8192, 28672, 8, 128256));
  inputs.gpus.resize(1);
  made = plan(inputs);
  EXPECT_EQ(made.verdict, Verdict::hybrid) << explain(made);  // 132 GiB on one card of 96: layers stay on the CPU
  EXPECT_THAT(made.reasons.front(), HasSubstr("layers that no GPU has room for"));
  inputs.gpus = reference("UD-IQ2_XXS", 1, 1).gpus;
  EXPECT_EQ(plan(inputs).verdict, Verdict::all_vram);
}

TEST(Planner, MoreTokensASlotThanTrainedIsAWarning) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 1, 131072);
  inputs.model = std::make_shared<const ModelHeaders>(qwen3_moe(94));
  EXPECT_THAT(words(plan(inputs)), HasSubstr("trained for"));
}

TEST(Planner, APinnedPlacementIsReplayedAndFittedWhereThereIsNone) {
  PlanInputs inputs = reference("UD-IQ1_M", 4, 65536);
  inputs.profile.placement.mode = PlacementMode::pinned;
  EXPECT_EQ(plan(inputs).placement.mode, PlacementMode::fit);
  inputs.profile.placement.tensor_split = {12, 12, 12, 12, 12, 12, 11, 11};
  inputs.profile.placement.tensors = {R"(blk\.1\.ffn_.*_exps=CPU)"};
  const Plan made = plan(inputs);
  EXPECT_EQ(made.placement.mode, PlacementMode::pinned);
  EXPECT_EQ(made.placement.cpu_expert_layers, 1);
  EXPECT_EQ(made.devices[7].layers, 11);
}

TEST(Planner, TheProjectorIsOnTheFirstGpu) {
  PlanInputs inputs = reference("UD-IQ1_M", 4, 65536);
  inputs.profile.placement.mode = PlacementMode::n_cpu_moe;
  inputs.profile.placement.n_cpu_moe = 0;
  inputs.profile.placement.tensor_split = {12, 12, 12, 12, 12, 12, 11, 11};
  const Bytes without = plan(inputs).devices[0].model_bytes;
  inputs.mmproj_bytes = 900'000'000;
  EXPECT_EQ(plan(inputs).devices[0].model_bytes, without + 900'000'000);
}

TEST(Planner, CapacityCountsWholeSequencesAndSmallerCachesHoldMore) {
  const Plan made = plan(reference("UD-IQ2_XXS", 4, 32768));
  const auto at = [&](int context, const std::string& type) {
    const auto row = std::find_if(made.capacity.begin(), made.capacity.end(),
                                  [&](const Capacity& c) { return c.context == context && c.cache_type == type; });
    return row == made.capacity.end() ? -1 : row->sequences;
  };
  EXPECT_EQ(made.capacity.size(), 12U);
  EXPECT_GE(at(8192, "f16"), 4);  // what the plan itself holds
  for (const char* type : {"f16", "q8_0", "q4_0"}) {
    EXPECT_GE(at(8192, type), at(32768, type));
    EXPECT_GE(at(32768, type), at(131072, type));
    EXPECT_GE(at(131072, type), at(1048576, type));
  }
  EXPECT_GT(at(131072, "q8_0"), at(131072, "f16"));
  EXPECT_GT(at(131072, "q4_0"), at(131072, "q8_0"));
}

TEST(Planner, WhatCapacitySaysCanBePlanned) {
  PlanInputs inputs = reference("UD-IQ2_XXS", 4, 32768);
  inputs.profile.placement.mode = PlacementMode::n_cpu_moe;
  inputs.profile.placement.n_cpu_moe = 0;
  const Plan made = plan(inputs);
  ASSERT_EQ(made.verdict, Verdict::all_vram);
  inputs.profile.placement.tensor_split = made.placement.tensor_split;
  inputs.profile.ubatch = made.ubatch;
  for (const Capacity& row : made.capacity) {
    inputs.profile.cache_type = row.cache_type;
    for (const int more : {0, 1}) {
      const int sequences = row.sequences + more;
      if (sequences == 0) continue;
      inputs.profile.slots = sequences;
      inputs.profile.context = sequences * row.context;
      EXPECT_EQ(plan(inputs).verdict, more == 0 ? Verdict::all_vram : Verdict::too_big)
          << sequences << " of " << row.context << " " << row.cache_type;
    }
  }
}

TEST(Planner, EveryFigureOfADeviceAddsUp) {
  for (const char* quant : {"UD-IQ2_XXS", "UD-Q2_K_XL", "UD-Q4_K_XL"}) {
    const Plan made = plan(reference(quant, 4, 65536));
    double layers = 0;
    Bytes model = made.host.model_bytes;
    for (const PlannedDevice& device : made.devices) {
      layers += device.layers;
      model += device.model_bytes;
      const Bytes all = device.model_bytes + device.context_bytes + device.compute_bytes + device.reserve_bytes;
      EXPECT_EQ(static_cast<std::int64_t>(device.free_bytes) - static_cast<std::int64_t>(all), device.left_bytes);
    }
    EXPECT_EQ(layers, 94) << quant;
    EXPECT_EQ(model, made.total_bytes) << quant;
  }
}

/// Without being told any of the engine's compute buffers.
TEST(Planner, TheVerdictOfAFitIsTheEnginesInEveryRecordedCase) {
  for (const Case& which : read_cases("engine-fit.txt")) {
    SCOPED_TRACE(which.text);
    PlanInputs inputs = reference(which.quant, which.asked.slots, which.asked.context);
    inputs.ram = HostRam{2048 * kGiB, 2000 * kGiB};
    inputs.gpus.clear();
    for (const double mib : which.sizes_mib) {
      const Bytes bytes = static_cast<Bytes>(mib) * kMiB;
      inputs.gpus.push_back({static_cast<int>(inputs.gpus.size()), bytes, bytes});
    }
    inputs.profile.batch = which.asked.batch;
    inputs.profile.ubatch = which.asked.ubatch;
    inputs.profile.cache_type = which.asked.cache;
    inputs.profile.placement.fit_target_mib = which.asked.margins_mib;
    const Plan made = plan(inputs);
    const MemoryModel model = model_of(which);
    const bool spilled = model.use(placed_by(which, which.chosen, model)).spilled_bytes > 0;
    EXPECT_EQ(made.verdict, spilled ? Verdict::hybrid : Verdict::all_vram) << explain(made);
    if (spilled) continue;  // with experts in host RAM, CUDA has buffers that CPU devices don't
    double ours = 0, theirs = 0;
    for (std::size_t i = 0; i < made.devices.size(); ++i) {
      const PlannedDevice& device = made.devices[i];
      ours += static_cast<double>(device.model_bytes + device.context_bytes + device.compute_bytes) / kMiB;
      theirs += which.devices[i].model + which.devices[i].context + which.devices[i].compute;
    }
    EXPECT_NEAR(ours, theirs, theirs * 0.01);
  }
}

TEST(Explain, SaysWhatCudaTakesAndWhereEverythingGoes) {
  PlanInputs inputs = reference("UD-Q2_K_XL", 8, 65536);
  inputs.load_bytes_per_second = 0.8e9;
  const std::string text = explain(plan(inputs));
  EXPECT_THAT(text, HasSubstr("It runs, partly from host RAM"));
  EXPECT_THAT(text, HasSubstr("beyond the engine's own figures"));
  EXPECT_THAT(text, HasSubstr("GPU 7: "));
  EXPECT_THAT(text, HasSubstr("Host RAM: "));
  EXPECT_THAT(text, HasSubstr("Loading 802.1 GiB takes about 17 min"));
  EXPECT_THAT(text, HasSubstr("of 128K (q8_0)"));
}

}  // namespace
}  // namespace k3d::planning::test
