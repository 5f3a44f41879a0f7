// The formulas one by one, for Kimi-K3 and for plain models, and what the planner is told of headers that lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/planning/memory_beyond.hpp"
#include "daemon/planning/placement_rules.hpp"
#include "tests/unit/planning/memory_golden.hpp"
#include "tests/unit/planning/memory_k3.hpp"
#include "tests/unit/planning/memory_plain.hpp"

namespace k3d::planning::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Architecture known(const ModelHeaders& headers) {
  auto read = read_architecture(headers);
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
  return read.value_or(Architecture{});
}

std::vector<int> layers_per_device(const std::vector<int>& devices, int count) {
  std::vector<int> layers;
  for (int i = 0; i < count; ++i) layers.push_back(static_cast<int>(std::count(devices.begin(), devices.end(), i)));
  return layers;
}

TEST(Architectures, KimiK3Keeps443MibASequenceAnd27KibAToken) {
  const Architecture model = known(headers_of("UD-IQ2_XXS"));
  EXPECT_EQ(model.layers, 93);
  EXPECT_EQ(checkpoint_bytes(model), 464'633'856U);
  Bytes token = 0;
  const Serving one{1, 256, 2048, 2048, 0, ggml_type("F16")};
  for (const LayerState& layer : model.states) token += cache_bytes(layer, one) / 256;
  EXPECT_EQ(token, 27'648U);
}

TEST(Architectures, NonExpertWeightsOfKimiK3AreThePublished57GiB) {
  const ModelHeaders& headers = headers_of("UD-Q4_K_XL");
  const ModelWeights weights = weigh(headers, known(headers));
  Bytes other = weights.input + weights.output, experts = 0;
  for (const LayerWeights& layer : weights.layers) {
    experts += layer.sum(kExperts);
    other += layer.total() - layer.sum(kExperts);
  }
  EXPECT_EQ(other, 62'205'516'160U);
  EXPECT_EQ(experts, 92ULL * 3 * 5'240'782'848ULL);
  EXPECT_EQ(weights.input, 1190 * kMiB);
}

TEST(Architectures, DenseModelsCacheKAndVOfEveryLayer) {
  const Architecture model = known(dense_llama(80, 8192, 28672, 8, 128256));
  EXPECT_THAT(model.states, Each(LayerState{1024, 1024, 0}));
  EXPECT_EQ(model.experts, 0);
  const Serving served{2, 8192, 2048, 512, 0, ggml_type("F16")};
  EXPECT_EQ(cache_bytes(model.states[0], served) * 80, 8192ULL * 80 * 2048 * 2);
}

TEST(Architectures, MoeModelsSayTheirExperts) {
  const ModelHeaders headers = qwen3_moe(94);
  const Architecture model = known(headers);
  EXPECT_EQ(model.experts, 128);
  EXPECT_EQ(model.expert_ff, 1536);
  EXPECT_THAT(model.states, Each(LayerState{512, 512, 0}));
  const ModelWeights weights = weigh(headers, model);
  EXPECT_EQ(weights.layers[0].sum(kExperts), 3ULL * 4096 * 1536 * 128 / 256 * 144);
}

TEST(Architectures, MlaModelsCacheTheCompressedRowAlone) {
  ModelHeaders headers = qwen3_moe(61);
  headers.metadata = {{"general.architecture", std::string("deepseek2")},
                      {"deepseek2.block_count", std::int64_t{61}},
                      {"deepseek2.embedding_length", std::int64_t{7168}},
                      {"deepseek2.attention.head_count", std::int64_t{128}},
                      {"deepseek2.attention.head_count_kv", std::int64_t{1}},
                      {"deepseek2.attention.key_length", std::int64_t{576}},
                      {"deepseek2.attention.value_length", std::int64_t{512}},
                      {"deepseek2.attention.key_length_mla", std::int64_t{192}}};
  EXPECT_THAT(known(headers).states, Each(LayerState{576, 0, 0}));
}

TEST(Architectures, LayersForMultiTokenPredictionAreNotLoaded) {
  ModelHeaders headers = qwen3_moe(10);
  headers.metadata["qwen3moe.nextn_predict_layers"] = std::int64_t{1};
  const Architecture model = known(headers);
  EXPECT_EQ(model.layers, 9);
  EXPECT_EQ(weigh(headers, model).layers.size(), 9U);
}

TEST(Architectures, KimiLinearKeepsStateOnLayersWithoutKvHeads) {
  ModelHeaders headers;
  headers.metadata = {{"general.architecture", std::string("kimi-linear")},
                      {"kimi-linear.block_count", std::int64_t{4}},
                      {"kimi-linear.embedding_length", std::int64_t{2304}},
                      {"kimi-linear.attention.head_count", std::int64_t{32}},
                      {"kimi-linear.attention.head_count_kv", std::vector<std::int64_t>{0, 0, 0, 1}},
                      {"kimi-linear.attention.key_length", std::int64_t{576}},
                      {"kimi-linear.attention.value_length", std::int64_t{512}},
                      {"kimi-linear.attention.key_length_mla", std::int64_t{192}},
                      {"kimi-linear.kda.head_dim", std::int64_t{128}},
                      {"kimi-linear.ssm.conv_kernel", std::int64_t{4}}};
  const LayerState kda{0, 0, 32 * 128 * (128 + 3 * 3)}, mla{576, 0, 0};
  EXPECT_THAT(known(headers).states, ElementsAre(kda, kda, kda, mla));
}

TEST(Architectures, ARecurrentStateThatIsNotKnownIsRefusedRatherThanGuessed) {
  ModelHeaders headers = dense_llama(4, 1024, 4096, 8, 1000);
  headers.metadata["llama.ssm.state_size"] = std::int64_t{128};
  const auto read = read_architecture(headers);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::invalid_request);
}

TEST(Architectures, ImpossibleNumbersAreErrors) {
  for (const std::int64_t layers : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'000}}) {
    ModelHeaders headers = dense_llama(4, 1024, 4096, 8, 1000);
    headers.metadata["llama.block_count"] = layers;
    EXPECT_FALSE(read_architecture(headers).has_value()) << layers;
  }
  ModelHeaders headers = dense_llama(4, 1024, 4096, 8, 1000);
  headers.metadata["llama.attention.head_count_kv"] = std::vector<std::int64_t>{1, 1, 1, -4};
  EXPECT_FALSE(read_architecture(headers).has_value());
  EXPECT_FALSE(read_architecture(ModelHeaders{}).has_value());
  ModelHeaders wide = small_kimi_k3(4);
  wide.metadata["kimi-k3.attention.head_count"] = std::int64_t{1} << 24;
  EXPECT_FALSE(read_architecture(wide).has_value());
  wide = small_kimi_k3(4);
  wide.metadata["kimi-k3.attention.key_length"] = std::int64_t{1} << 24;
  EXPECT_FALSE(read_architecture(wide).has_value());
}

TEST(Layers, TiedEmbeddingsAreLoadedTwice) {
  ModelHeaders headers = dense_llama(2, 1024, 4096, 8, 1000);
  std::erase_if(headers.tensors, [](const TensorInfo& tensor) { return tensor.name == "output.weight"; });
  const ModelWeights weights = weigh(headers, known(headers));
  EXPECT_EQ(weights.output, weights.input + 4096);
}

TEST(Layers, PartsAreWhatTheEnginesPatternsMove) {
  EXPECT_EQ(part_of("blk.7.ffn_gate_exps.weight"), kGateExperts);
  EXPECT_EQ(part_of("blk.7.ffn_up_chexps.weight"), kUpExperts);
  EXPECT_EQ(part_of("blk.7.ffn_gate_up_exps.weight"), kGateUpExperts);
  EXPECT_EQ(part_of("blk.7.ffn_gate_inp.weight"), kGate);
  EXPECT_EQ(part_of("blk.7.ffn_down_shexp.weight"), kDown);
  EXPECT_EQ(part_of("blk.7.ffn_routed_up.weight"), kRest);
  EXPECT_EQ(part_of("blk.7.attn_gate.weight"), kRest);
  EXPECT_EQ(part_of("output.weight"), kRest);
}

TEST(Layers, EightEqualDevicesGetWhatTheEngineGivesThem) {
  const std::vector<double> equal(8, 97887);
  EXPECT_THAT(layers_per_device(layer_devices(93, 94, equal), 8), ElementsAre(12, 12, 12, 11, 12, 12, 12, 11));
}

TEST(Layers, ASplitInLayersIsTakenAsItIs) {
  EXPECT_THAT(layers_per_device(layer_devices(93, 94, {14, 14, 13, 13, 12, 11, 11, 6}), 8),
              ElementsAre(14, 14, 13, 13, 12, 11, 11, 6));
  EXPECT_THAT(layers_per_device(layer_devices(93, 94, {16, 15, 14, 15, 14, 11, 9, 0}), 8),
              ElementsAre(16, 15, 14, 15, 14, 11, 9, 0));
}

TEST(Layers, FewerOffloadedLayersAreTheLastOnes) {
  const std::vector<int> devices = layer_devices(93, 50, {1, 1});
  EXPECT_EQ(devices[43], kHost);
  EXPECT_EQ(devices[44], 0);
  EXPECT_EQ(devices[93], 1);
  EXPECT_THAT(layer_devices(3, 4, {}), Each(kHost));
}

TEST(Context, IsRoundedUpPerSlot) {
  const GgmlType* f16 = ggml_type("F16");
  EXPECT_EQ(slot_context({5, 40000, 0, 0, 0, f16}), 8192);
  EXPECT_EQ(total_context({5, 40000, 0, 0, 0, f16}), 40960);
  EXPECT_EQ(total_context({3, 100000, 0, 0, 0, f16}), 100608);
  EXPECT_EQ(total_context({1, 1, 0, 0, 0, f16}), 256);
}

TEST(Context, EightSnapshotsOfFourSlotsAre14180Mib) {
  const Architecture model = known(headers_of("UD-IQ2_XXS"));
  const Serving served{4, 32768, 2048, 2048, 7, ggml_type("F16")};
  Bytes state = 0;
  for (const LayerState& layer : model.states) state += recurrent_bytes(layer, served);
  EXPECT_NEAR(static_cast<double>(state) / kMiB, 14180, 1);
}

TEST(Context, TypesWhoseBlocksDontDivideTheRowsAreRefused) {
  const Architecture model = known(headers_of("UD-IQ2_XXS"));
  EXPECT_TRUE(cache_type_fits(model, *ggml_type("Q8_0")));
  EXPECT_FALSE(cache_type_fits(model, *ggml_type("Q4_K")));
}

TEST(Beyond, ScratchIsWhatWasMeasured) {
  EXPECT_EQ(cuda_scratch(2048), 714 * kMiB);
  EXPECT_EQ(cuda_scratch(4096), 1800 * kMiB);
  EXPECT_EQ(cuda_scratch(32), 256 * kMiB);
}

TEST(Beyond, CachesFollowTheRamUnlessTheProfileSays) {
  Profile profile;
  profile.slots = 8;
  const Bytes checkpoint = 464'633'856;
  const HostCaches big = host_caches(profile, HostRam{1024 * kGiB, 1000 * kGiB}, checkpoint);
  EXPECT_EQ(big.prompt_cache, 64 * kGiB);
  EXPECT_EQ(big.checkpoints, 18);
  const HostCaches small = host_caches(profile, HostRam{24 * kGiB, 20 * kGiB}, checkpoint);
  EXPECT_EQ(small.prompt_cache, 1536 * kMiB);
  EXPECT_EQ(small.checkpoints, 2);
  profile.cache_ram = 0;
  profile.ctx_checkpoints = 0;
  const HostCaches none = host_caches(profile, std::nullopt, checkpoint);
  EXPECT_EQ(none.prompt_cache, 0U);
  EXPECT_EQ(none.checkpoints, 0);
}

TEST(Rules, TheFirstThatMatchesCounts) {
  const ModelHeaders headers = small_kimi_k3(4);
  const Architecture model = known(headers);
  const auto moves = moves_of_rules({R"(blk\.1\.ffn_up_exps=CPU)", R"(blk\.1\.ffn_.*_exps=CUDA1)"}, headers, model, 2);
  ASSERT_TRUE(moves.has_value());
  ASSERT_EQ(moves->size(), 3U);
  EXPECT_THAT((std::vector<int>{(*moves)[0].device, (*moves)[1].device, (*moves)[2].device}), ElementsAre(1, kHost, 1));
}

TEST(Rules, WhatCantBeReadIsAnError) {
  const ModelHeaders headers = small_kimi_k3(2);
  const Architecture model = known(headers);
  for (const char* rule : {"no device", "x=GPU0", "x=CUDA2", "x=CUDA", "x=CUDA1x", "(=CPU"}) {
    EXPECT_FALSE(moves_of_rules({rule}, headers, model, 2).has_value()) << rule;
  }
}

}  // namespace
}  // namespace k3d::planning::test
