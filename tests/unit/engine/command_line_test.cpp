// The command line, for the image of Debian and for one that lacks newer options.
#include "daemon/engine/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/engine/inputs.hpp"

namespace k3d::engine {
namespace {

using testing::Contains;
using testing::Not;
using Strings = std::vector<std::string>;

Strings made(const CommandInputs& in) {
  const Result<Strings> argv = command_line(in);
  EXPECT_TRUE(argv) << argv.error().text();
  return argv.value_or(Strings());
}

/// What follows `flag`; "" if it isn't there.
std::string value(const Strings& argv, const std::string& flag) {
  const auto found = std::find(argv.begin(), argv.end(), flag);
  return found == argv.end() || found + 1 == argv.end() ? "" : *(found + 1);
}

bool has(const Strings& argv, const std::string& flag) {
  return std::find(argv.begin(), argv.end(), flag) != argv.end();
}

bool any(const Strings& argv, std::initializer_list<const char*> flags) {
  return std::any_of(flags.begin(), flags.end(), [&argv](const char* flag) { return has(argv, flag); });
}

Placement placement(PlacementMode mode) {
  Placement place;
  place.mode = mode;
  if (mode == PlacementMode::n_cpu_moe) place.n_cpu_moe = 16;
  if (mode == PlacementMode::override_tensors) place.tensors = {R"(blk\.(1|2)\.ffn_.*_exps=CPU)", "output=CUDA0"};
  return place;
}

CommandInputs placed(PlacementMode mode) {
  CommandInputs in = test::inputs();
  in.profile.placement = placement(mode);
  return in;
}

TEST(CommandLine, whole_line_with_fit) {
  const Strings expected{"--model",
                         "/models/UD-Q2_K_XL/Kimi-K3-UD-Q2_K_XL-00001-of-00019.gguf",
                         "--alias",
                         "batch,k3,kimi-k3",
                         "--host",
                         "/var/lib/k3d/attempts/7/engine.sock",
                         "--ctx-size",
                         "65536",
                         "--parallel",
                         "8",
                         "--batch-size",
                         "2048",
                         "--ubatch-size",
                         "2048",
                         "--threads",
                         "64",
                         "--threads-batch",
                         "64",
                         "--cache-type-k",
                         "f16",
                         "--cache-type-v",
                         "f16",
                         "--split-mode",
                         "layer",
                         "--fit",
                         "on",
                         "--fit-target",
                         "4096",
                         "--cache-ram",
                         "65536",
                         "--ctx-checkpoints",
                         "18",
                         "--load-mode",
                         "none",
                         "--numa",
                         "distribute",
                         "--jinja",
                         "--no-webui",
                         "--verbosity",
                         "4",
                         "--log-colors",
                         "off"};
  EXPECT_EQ(made(test::inputs()), expected);
}

TEST(CommandLine, explicit_placements) {
  CommandInputs in = placed(PlacementMode::n_cpu_moe);
  in.profile.placement.tensor_split = {12, 11.5, 0};
  Strings argv = made(in);
  EXPECT_EQ(value(argv, "-ngl"), "999");
  EXPECT_EQ(value(argv, "--n-cpu-moe"), "16");
  EXPECT_EQ(value(argv, "--tensor-split"), "12,11.5,0");
  EXPECT_EQ(value(argv, "--fit"), "off");
  EXPECT_FALSE(any(argv, {"--fit-target", "--override-tensor"}));
  argv = made(placed(PlacementMode::override_tensors));
  EXPECT_EQ(value(argv, "--override-tensor"), R"(blk\.(1|2)\.ffn_.*_exps=CPU,output=CUDA0)");
  EXPECT_EQ(value(argv, "--fit"), "off");
  EXPECT_FALSE(any(argv, {"--fit-target", "--n-cpu-moe"}));
}

TEST(CommandLine, a_pinned_placement_is_replayed_or_left_to_a_fit) {
  CommandInputs in = placed(PlacementMode::pinned);
  EXPECT_EQ(value(made(in), "--fit"), "on") << "nothing is remembered";
  in.profile.placement.tensor_split = {21, 73};
  Strings argv = made(in);
  EXPECT_EQ(value(argv, "--fit"), "off");
  EXPECT_EQ(value(argv, "-ngl"), "999");
  EXPECT_EQ(value(argv, "--tensor-split"), "21,73");
  EXPECT_FALSE(any(argv, {"--fit-target", "--n-cpu-moe", "--override-tensor"}));
  in.profile.placement.tensors = {"a=CUDA1", "b=CPU"};
  argv = made(in);
  EXPECT_EQ(value(argv, "--override-tensor"), "a=CUDA1,b=CPU");
  EXPECT_EQ(value(argv, "--ubatch-size"), "4096");
}

TEST(CommandLine, an_automatic_number_of_expert_layers_without_a_plan_is_a_fit) {
  CommandInputs in = placed(PlacementMode::n_cpu_moe);
  in.profile.placement.n_cpu_moe.reset();
  in.profile.placement.tensor_split = {1, 1};
  const Strings argv = made(in);
  EXPECT_EQ(value(argv, "--fit"), "on");
  EXPECT_FALSE(any(argv, {"-ngl", "--n-cpu-moe", "--tensor-split"}));
}

TEST(CommandLine, drafts_by_a_model_beside_the_output) {
  CommandInputs in = test::inputs();
  in.profile.speculative = Speculative{"draft-dspark", "dspark-k3", "last", 5};
  in.draft = {"/draft/dspark-k3.gguf", "CUDA7"};
  const Strings argv = made(in);
  EXPECT_EQ(value(argv, "--spec-type"), "draft-dspark");
  EXPECT_EQ(value(argv, "--spec-draft-model"), "/draft/dspark-k3.gguf");
  EXPECT_EQ(value(argv, "--spec-draft-n-max"), "5");
  EXPECT_EQ(value(argv, "--spec-draft-device"), "CUDA7");
  EXPECT_EQ(value(argv, "--spec-draft-ngl"), "all");
  EXPECT_EQ(value(argv, "--fit"), "on") << "the draft's device takes nothing from the fit";
}

TEST(CommandLine, drafts_without_a_gpu_or_without_a_model) {
  CommandInputs in = test::inputs();
  in.profile.gpus.choice = GpuChoice::none;
  in.profile.speculative = Speculative{"draft-simple", "small", "last", 7};
  in.draft = {"/draft/small.gguf", std::nullopt};
  EXPECT_FALSE(any(made(in), {"--spec-draft-device", "--spec-draft-ngl"}));
  in.profile.speculative = Speculative{"ngram-mod", "", "last", 16};
  in.draft = {};
  const Strings argv = made(in);
  EXPECT_EQ(value(argv, "--spec-type"), "ngram-mod");
  EXPECT_EQ(value(argv, "--spec-draft-n-max"), "16");
  EXPECT_FALSE(any(argv, {"--spec-draft-model", "--spec-draft-device"}));
  in.capabilities = test::older();
  const auto refused = command_line(in);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::flag_missing);
  EXPECT_NE(refused.error().message.find("--spec-type"), std::string::npos) << refused.error().message;
}

TEST(CommandLine, fit_targets_per_device) {
  CommandInputs in = test::inputs();
  in.profile.placement.fit_target_mib = {5632, 5632, 10240};
  EXPECT_EQ(value(made(in), "--fit-target"), "5632,5632,10240");
}

TEST(CommandLine, without_gpus_nothing_is_placed) {
  for (const PlacementMode mode : {PlacementMode::fit, PlacementMode::n_cpu_moe, PlacementMode::override_tensors}) {
    CommandInputs in = placed(mode);
    in.profile.gpus.choice = GpuChoice::none;
    const Strings argv = made(in);
    EXPECT_EQ(value(argv, "--device"), "none");
    EXPECT_EQ(value(argv, "--fit"), "off");
    EXPECT_EQ(value(argv, "--ubatch-size"), "2048");
    EXPECT_FALSE(
        any(argv, {"-ngl", "--fit-target", "--n-cpu-moe", "--override-tensor", "--tensor-split", "--split-mode"}));
  }
}

// llama-server drops a fit with only a warning if a placement is given as well.
TEST(CommandLine, never_fit_and_an_explicit_placement) {
  std::mt19937 random(20261130);
  const auto upto = [&random](unsigned n) { return static_cast<int>(random() % (n + 1)); };
  CommandInputs recent = test::inputs(), old = test::inputs();
  old.capabilities = test::older();
  for (int i = 0; i < 500; ++i) {
    CommandInputs& in = upto(3) == 0 ? old : recent;
    in.profile.placement = placement(static_cast<PlacementMode>(upto(3)));
    in.profile.gpus.choice = static_cast<GpuChoice>(upto(2));
    if (upto(1) == 1) in.profile.placement.n_cpu_moe = upto(93);
    if (upto(1) == 1) in.profile.placement.tensor_split = {1.0, 0.5 * upto(8)};
    if (upto(1) == 1) in.profile.placement.fit_target_mib = {upto(8192)};
    if (upto(1) == 1) in.profile.placement.tensors = {"a=CPU"};
    const Result<Strings> argv = command_line(in);
    if (!argv) {
      ASSERT_EQ(argv.error().code, Code::flag_missing);
      continue;
    }
    const bool fit = value(*argv, "--fit") == "on";
    const bool explicit_placement =
        any(*argv, {"-ngl", "--n-cpu-moe", "-ncmoe", "--override-tensor", "-ot", "--tensor-split", "-ts", "-cmoe"});
    ASSERT_FALSE(fit && explicit_placement) << testing::PrintToString(*argv);
    ASSERT_EQ(has(*argv, "--fit-target"), fit);
    ASSERT_TRUE(fit || explicit_placement || in.profile.gpus.choice == GpuChoice::none);
  }
}

TEST(CommandLine, batches_by_placement) {
  const auto batches = [](const CommandInputs& in) {
    const Strings argv = made(in);
    return value(argv, "--batch-size") + "/" + value(argv, "--ubatch-size");
  };
  CommandInputs in = placed(PlacementMode::n_cpu_moe);
  EXPECT_EQ(batches(in), "4096/4096");
  in.profile.placement.n_cpu_moe = 0;
  EXPECT_EQ(batches(in), "2048/2048");
  EXPECT_EQ(batches(placed(PlacementMode::override_tensors)), "4096/4096");
  in = placed(PlacementMode::override_tensors);
  in.profile.placement.tensors = {"output=CUDA1"};
  EXPECT_EQ(batches(in), "2048/2048");
  in.profile.batch = 512;
  EXPECT_EQ(batches(in), "512/512");
  in.profile.batch.reset();
  in.profile.ubatch = 8192;
  EXPECT_EQ(batches(in), "8192/8192");
  in.profile.batch = 1024;
  in.profile.ubatch = 256;
  EXPECT_EQ(batches(in), "1024/256");
}

TEST(CommandLine, host_memory_by_ram) {
  struct Row {
    std::optional<Bytes> ram;
    int slots;
    std::string cache, checkpoints;
  };
  for (const Row& row :
       {Row{8 * kGiB, 8, "1024", "2"}, Row{24 * kGiB, 1, "1536", "3"}, Row{Bytes{67} * kGiB + 3 * kMiB, 1, "4352", "9"},
        Row{1024 * kGiB, 8, "65536", "18"}, Row{4096 * kGiB, 1, "65536", "32"}, Row{std::nullopt, 8, "", ""}}) {
    CommandInputs in = test::inputs();
    in.host.ram_bytes = row.ram;
    in.profile.slots = row.slots;
    const Strings argv = made(in);
    EXPECT_EQ(value(argv, "--cache-ram"), row.cache) << row.ram.value_or(0);
    EXPECT_EQ(value(argv, "--ctx-checkpoints"), row.checkpoints) << row.ram.value_or(0);
  }
  CommandInputs in = test::inputs();
  in.profile.cache_ram = 0;
  in.profile.ctx_checkpoints = 0;
  EXPECT_EQ(value(made(in), "--cache-ram"), "0");
  EXPECT_EQ(value(made(in), "--ctx-checkpoints"), "0");
  in.profile.cache_ram = kMiB + 1;
  EXPECT_EQ(value(made(in), "--cache-ram"), "2");
}

TEST(CommandLine, what_the_profile_says_counts) {
  CommandInputs in = test::inputs();
  in.profile.threads = 12;
  in.profile.cache_type = "q8_0";
  in.profile.image = "registry/engine:1";
  const Strings argv = made(in);
  EXPECT_EQ(value(argv, "--threads"), "12");
  EXPECT_EQ(value(argv, "--threads-batch"), "12");
  EXPECT_EQ(value(argv, "--cache-type-k"), "q8_0");
  EXPECT_EQ(value(argv, "--cache-type-v"), "q8_0");
}

TEST(CommandLine, vision_file_only_where_the_source_can_see) {
  CommandInputs in = test::inputs();
  in.mmproj_path = "/models/mmproj-BF16.gguf";
  EXPECT_FALSE(has(made(in), "--mmproj"));
  in.vision = true;
  EXPECT_EQ(value(made(in), "--mmproj"), "/models/mmproj-BF16.gguf");
  in.mmproj_path.reset();
  EXPECT_FALSE(has(made(in), "--mmproj"));
}

TEST(CommandLine, F96_no_api_key_in_the_arguments) {
  CommandInputs in = test::inputs();
  in.address = {"", 41234, "c0ffee-canary"};
  const Strings argv = made(in);
  EXPECT_EQ(value(argv, "--host"), "127.0.0.1");
  EXPECT_EQ(value(argv, "--port"), "41234");
  EXPECT_THAT(argv, Not(Contains(testing::HasSubstr("canary"))));
  EXPECT_FALSE(any(argv, {"--api-key", "--api-key-file"}));
}

TEST(CommandLine, only_warnings_through_docker) {
  CommandInputs in = test::inputs();
  in.log_to_file = false;
  EXPECT_EQ(value(made(in), "--verbosity"), "2");
}

TEST(CommandLine, an_older_image_gets_what_it_has) {
  CommandInputs in = placed(PlacementMode::n_cpu_moe);
  in.capabilities = test::older();
  const Strings argv = made(in);
  EXPECT_TRUE(has(argv, "--no-mmap"));
  EXPECT_FALSE(any(argv, {"--load-mode", "--fit", "--cache-ram", "--ctx-checkpoints", "--log-colors", "off"}));
  EXPECT_EQ(value(argv, "--n-cpu-moe"), "16");
  for (const std::string& arg : argv) {
    if (arg.starts_with("--")) EXPECT_TRUE(in.capabilities.has(arg)) << arg;
  }
}

TEST(CommandLine, what_is_needed_and_not_there_is_named) {
  CommandInputs in = test::inputs();
  in.profile.image = "old-engine:1";
  in.capabilities = test::older();
  const auto fit = command_line(in);
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().code, Code::flag_missing);
  for (const char* word : {"--fit", "placement.mode: fit", "old-engine:1"}) {
    EXPECT_THAT(fit.error().message, testing::HasSubstr(word));
  }
  EXPECT_FALSE(fit.error().hint.empty());
  in = placed(PlacementMode::n_cpu_moe);
  in.capabilities = test::older();
  in.profile.cache_ram = kGiB;
  const auto cache = command_line(in);
  ASSERT_FALSE(cache);
  EXPECT_THAT(cache.error().message, testing::HasSubstr("cache_ram"));
  in = test::inputs();
  in.capabilities.flags.erase("--load-mode");
  in.capabilities.flags.erase("-lm");
  EXPECT_FALSE(command_line(in)) << "neither --load-mode nor --no-mmap: the weights would be mapped";
}

}  // namespace
}  // namespace k3d::engine
