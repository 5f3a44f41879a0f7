// What the log of a loading engine says beside its progress.
#include "daemon/engine/log_signs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine/golden.hpp"

namespace k3d::engine {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

LogSigns read(const std::string& log) {
  LogSignReader reader;
  reader.feed(log);
  return reader.signs();
}

Bytes mib(double value) {
  return static_cast<Bytes>(value * static_cast<double>(kMiB));
}

const std::string kAllInVram =
    "0.01.133.353 I common_memory_breakdown_print: |   - CUDA0 (H200)       | 143155 = 142215 + (136540 = 130503 +     "
    "771 +    5265) +     -135599 |\n"
    "0.01.133.353 I common_memory_breakdown_print: |   - Host               |                      1558 =   1190 +     "
    " "
    " 0 +     368                |\n"
    "0.10.062.350 I load_tensors:          CPU model buffer size =  1190.00 MiB\n"
    "0.10.062.363 I load_tensors:        CUDA0 model buffer size = 132606.53 MiB\n";
const std::string kLoaded = "2.37.488.456 I srv  llama_server: model loaded\n";

TEST(LogSigns, a_real_hybrid_load_tells_what_it_left_on_the_cpu) {
  const LogSigns signs = read(test::golden("engine-logs/ready-fit-hybrid.log"));
  EXPECT_TRUE(signs.loaded);
  EXPECT_EQ(signs.host_model_at_best, mib(1190));
  EXPECT_NEAR(static_cast<double>(host_model_bytes(signs)), static_cast<double>(mib(449511.56)), 1e6);
  EXPECT_NEAR(static_cast<double>(spilled_bytes(signs).value()), static_cast<double>(mib(448321.56)), 1e6);
  const Buffers& first = signs.buffers.at("CUDA0");
  EXPECT_EQ(first.model, mib(130503.90));
  EXPECT_EQ(first.context, mib(360) + mib(411));
  EXPECT_EQ(first.compute, mib(5265.62));
  EXPECT_EQ(signs.buffers.at("CUDA_Host").compute, mib(176.02) + mib(2.5));
  EXPECT_THAT(signs.fit_given_up, IsEmpty());
  EXPECT_THAT(signs.no_gpu, IsEmpty());
}

TEST(LogSigns, a_real_load_by_device) {
  const Breakdown seen = breakdown(read(test::golden("engine-logs/ready-fit-hybrid.log")));
  ASSERT_EQ(seen.devices.size(), 2U);
  EXPECT_EQ(seen.devices[1].model, mib(131213.57));
  EXPECT_EQ(seen.devices[1].context, mib(1368) + mib(1361.44));
  EXPECT_EQ(seen.devices[1].compute, mib(2059.12));
  EXPECT_EQ(seen.host.compute, mib(176.02) + mib(2.5));
  EXPECT_NEAR(static_cast<double>(seen.host.model), static_cast<double>(mib(449511.56)), 1e6);
}

TEST(LogSigns, buffers_of_no_known_device_are_left_out) {
  const Breakdown seen = breakdown(read("0.01.000.000 I load_tensors: CUDA99 model buffer size = 1.00 MiB\n"
                                        "0.01.000.000 I load_tensors: CUDAx model buffer size = 1.00 MiB\n"
                                        "0.01.000.000 I load_tensors: Vulkan0 model buffer size = 1.00 MiB\n"
                                        "0.01.000.000 I alloc_compute_meta: CUDA0 compute buffer size = 9.00 MiB\n"
                                        "0.01.000.000 I sched_reserve: CUDA1 compute buffer size = 2.00 MiB\n"));
  ASSERT_EQ(seen.devices.size(), 2U);
  EXPECT_EQ(seen.devices[0].compute, 0U);
  EXPECT_EQ(seen.devices[1].compute, mib(2));
  EXPECT_EQ(seen.host.model, 0U);
}

TEST(LogSigns, where_a_real_fit_put_everything) {
  const LogSigns signs = read(test::golden("engine-logs/ready-fit-hybrid.log"));
  ASSERT_TRUE(signs.fitted);
  EXPECT_THAT(signs.fitted->tensor_split, testing::ElementsAre(21, 73));
  // Layer 20 is split between the devices, layer 34 between the second and the host; the experts of the rest follow.
  std::string rest;
  for (int layer = 35; layer < 94; ++layer) rest += (rest.empty() ? "" : "|") + std::to_string(layer);
  EXPECT_THAT(signs.fitted->tensors,
              testing::ElementsAre(R"(blk\.20\.ffn_(gate|up|gate_up|down).*=CUDA1)",
                                   R"(blk\.34\.ffn_(gate|up|gate_up|down).*=CPU)",
                                   R"(blk\.()" + rest + R"()\.ffn_(up|down|gate_up|gate)_(ch|)exps=CPU)"));
}

TEST(LogSigns, a_fit_that_left_layers_on_the_cpu_or_did_nothing_is_not_replayed) {
  const std::string rows = "0.01.000.000 I common_params_fit_impl: memory for test allocation by device:\n"
                           "0.01.000.000 I common_params_fit_impl: id=0, n_layer=47, n_part= 0, overflow_type=4, mem= 1 MiB\n"
                           "0.01.000.000 I common_params_fit_impl: id=1, n_layer=47, n_part= 0, overflow_type=4, mem= 1 MiB\n";
  const std::string chosen = "0.01.000.000 I common_params_fit_impl: set ngl_per_device[0].(n_layer, n_part)=(47, 0), x\n";
  const std::string done = "0.01.000.000 I common_fit_params: successfully fit params to free device memory\n";
  const std::string whole = "0.01.000.000 I load_tensors: offloaded 94/94 layers to GPU\n";
  const auto fitted = [](const std::string& log) { return read(log + kLoaded).fitted; };
  ASSERT_TRUE(fitted(rows + chosen + done + whole));
  EXPECT_THAT(fitted(rows + chosen + done + whole)->tensors, IsEmpty());
  EXPECT_EQ(fitted(rows + chosen + whole), std::nullopt) << "it did not succeed";
  EXPECT_EQ(fitted(rows + done + whole), std::nullopt) << "nothing was chosen";
  EXPECT_EQ(fitted(rows + chosen + done + "0.01.000.000 I load_tensors: offloaded 50/94 layers to GPU\n"), std::nullopt);
  EXPECT_EQ(read(rows + chosen + done + whole).fitted, std::nullopt) << "not loaded yet";
}

TEST(LogSigns, all_in_vram_spills_nothing) {
  EXPECT_EQ(spilled_bytes(read(kAllInVram)), std::nullopt) << "not loaded yet";
  EXPECT_EQ(spilled_bytes(read(kAllInVram + kLoaded)), 0U);
  const std::string one_tensor = "0.10.062.351 I load_tensors:    CUDA_Host model buffer size =  1837.50 MiB\n";
  EXPECT_EQ(spilled_bytes(read(kAllInVram + one_tensor + kLoaded)), mib(1837.5));
}

TEST(LogSigns, without_a_fit_nobody_knows_what_was_meant) {
  const LogSigns signs = read("0.10.062.350 I load_tensors:   CPU model buffer size =  45508.34 MiB\n" + kLoaded);
  EXPECT_EQ(spilled_bytes(signs), std::nullopt);
  EXPECT_EQ(host_model_bytes(signs), mib(45508.34));
}

TEST(LogSigns, a_fit_given_up_while_the_load_goes_on) {
  const LogSigns signs = read(test::golden("engine-logs/fit-given-up.log"));
  EXPECT_FALSE(signs.loaded);
  EXPECT_EQ(signs.fit_given_up, "model_params::tensor_buft_overrides already set by user, abort");
  EXPECT_EQ(spilled_bytes(signs), std::nullopt);
  // At the verbosity of an image without a shell there is this one line.
  EXPECT_THAT(read("0.01.154.690 W common_fit_params: failed to fit params to free device memory: x\n").fit_given_up,
              "x");
  EXPECT_EQ(read("0.1.154.690 E common_fit_params: encountered an error while trying to fit params to free device "
                 "memory: y\n")
                .fit_given_up,
            "y");
}

TEST(LogSigns, an_engine_that_sees_no_gpu) {
  for (const char* line : {"ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected\n",
                           "0.00.001.000 E ggml_cuda_init: failed to initialize CUDA: system not yet initialized\n",
                           "warning: no usable GPU found, --gpu-layers option will be ignored\n"}) {
    EXPECT_THAT(read(line).no_gpu, testing::AnyOf(HasSubstr("CUDA"), HasSubstr("no usable GPU"))) << line;
  }
}

TEST(LogSigns, F42_lines_may_come_in_any_pieces) {
  const std::string log = kAllInVram + kLoaded;
  for (std::size_t cut = 0; cut <= log.size(); ++cut) {
    LogSignReader reader;
    reader.feed(std::string_view(log).substr(0, cut));
    reader.feed(std::string_view(log).substr(cut));
    ASSERT_EQ(spilled_bytes(reader.signs()), 0U) << cut;
  }
}

TEST(LogSigns, F43_what_comes_after_the_load_is_not_read) {
  const LogSigns signs = read(kAllInVram + kLoaded +
                              "0.10.062.350 I load_tensors:   CPU model buffer size =  45508.34 MiB\n"
                              "warning: no usable GPU found\n"
                              "0.01.1 W x: failed to fit params to free device memory: x\n");
  EXPECT_EQ(spilled_bytes(signs), 0U);
  EXPECT_THAT(signs.no_gpu, IsEmpty());
  EXPECT_THAT(signs.fit_given_up, IsEmpty());
}

TEST(LogSigns, lines_of_another_shape_say_nothing) {
  for (const char* line :
       {"0.10.062.350 I load_tensors:   CPU model buffer size =  much MiB", "0.10.062.350 I load_tensors: CPU",
        "0.10.062.350 I load_tensors:   CPU model buffer size =  -5.00 MiB",
        "0.10.062.350 I load_tensors:", "0.10.062.350 I load_tensors:   CPU model buffer size =  nan MiB",
        "0.10.062.350 I load_tensors:   CPU model buffer size =  1e300 MiB",
        "0.10.062.350 D load_tensors:   CPU model buffer size =  5.00 MiB", "CPU model buffer size = 5 MiB",
        "0.10.062.350 I common_memory_breakdown_print: |   - Host | x = 5"}) {
    const LogSigns signs = read(std::string(line) + "\n" + kLoaded);
    EXPECT_THAT(signs.buffers, IsEmpty()) << line;
    EXPECT_EQ(signs.host_model_at_best, std::nullopt) << line;
  }
}

}  // namespace
}  // namespace k3d::engine
