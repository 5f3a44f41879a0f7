// The catalogue, on what real engines wrote before they ended.
#include "daemon/engine/failures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "daemon/engine/failure_table.hpp"
#include "tests/unit/engine/golden.hpp"

namespace k3d::engine {
namespace {

using testing::HasSubstr;
using testing::Not;

Failure of(int exit_code, std::vector<std::string> lines, bool ready = false, bool oom = false) {
  return classify({exit_code, oom, ready, std::move(lines)});
}

struct Real {
  const char* log;
  int exit_code;
  bool ready;
  const char* code;
  const char* detail;
};

class RealLogs : public testing::TestWithParam<Real> {};

TEST_P(RealLogs, are_named) {
  const Real& real = GetParam();
  const Failure failure = of(real.exit_code, test::golden_log(real.log), real.ready);
  EXPECT_EQ(failure.code, real.code);
  EXPECT_THAT(failure.detail, HasSubstr(real.detail));
  EXPECT_FALSE(failure.title.empty());
  EXPECT_FALSE(failure.advice.empty());
  EXPECT_EQ(failure.exit_code, real.exit_code);
  EXPECT_FALSE(failure.log_excerpt.empty());
  EXPECT_LE(failure.log_excerpt.size(), 20U);
  EXPECT_THAT(failure.log_excerpt, testing::Contains(HasSubstr(failure.detail)));
}

INSTANTIATE_TEST_SUITE_P(
    Failures, RealLogs,
    testing::Values(Real{"model-missing", 1, false, "model_missing", "/m/none.gguf' (No such file"},
                    Real{"magic", 1, false, "model_corrupt", "invalid magic"},
                    Real{"empty", 1, false, "model_truncated", "failed to read magic"},
                    Real{"header-cut", 1, false, "model_truncated", "failed to read key-value pairs"},
                    Real{"header-damaged", 1, false, "model_corrupt", "number of tensors is -1"},
                    Real{"truncated", 1, false, "model_truncated", "blk.8.ssm_f_b.weight"},
                    Real{"shard-truncated", 1, false, "model_truncated", "blk.4.ffn_up_exps.weight"},
                    Real{"shard-missing", 1, false, "shard_missing", "tiny-00003-of-00005.gguf"},
                    Real{"second-shard", 1, false, "not_first_shard", "tiny-00002-of-00005.gguf"},
                    Real{"renamed", 1, false, "not_first_shard", "foo.gguf"},
                    Real{"architecture", 1, false, "unknown_architecture", "kimi-kx"},
                    Real{"unknown-flag", 1, false, "unknown_flag", "--no-such-flag"},
                    Real{"bad-value", 1, false, "bad_argument", "--ctx-size"},
                    Real{"cache-type", 1, false, "cache_type_unsupported", "zzz"},
                    Real{"cache-types-differ", 1, false, "cache_types_differ", "K (q8_0) and V (f16)"},
                    Real{"device", 1, false, "gpu_unavailable", "CUDA9"},
                    Real{"mmproj", 1, false, "mmproj_mismatch", "/m/t.gguf"},
                    Real{"mmproj-missing", 1, false, "mmproj_mismatch", "/m/none.gguf"},
                    Real{"address-taken", 1, false, "port_in_use", "port: 18999"},
                    Real{"cuda-oom-at-load", 1, false, "cuda_out_of_memory", "allocating 173692.25 MiB on device 0"},
                    Real{"cuda-oom-on-request", 134, true, "cuda_out_of_memory_on_request",
                         "CUDA error: out of memory"}),
    [](const auto& info) {
      std::string name = info.param.log;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(Failures, a_fit_given_up_matters_only_if_the_load_fails) {
  const std::vector<std::string> log = test::golden_log("fit-given-up");
  EXPECT_EQ(of(143, log).code, "killed");
  std::vector<std::string> both = log;
  for (const std::string& line : test::golden_log("cuda-oom-at-load")) both.push_back(line);
  const Failure failure = of(1, both);
  EXPECT_EQ(failure.code, "fit_given_up");
  EXPECT_THAT(failure.detail, HasSubstr("tensor_buft_overrides already set by user"));
  // It loads on without the fit, and may then end for another reason.
  EXPECT_EQ(of(139, log).code, "crash");
  std::vector<std::string> damaged = log;
  damaged.emplace_back("0.02.000.000 E llama_model_load: error loading model: wrong number of tensors");
  EXPECT_EQ(of(1, damaged).code, "model_corrupt");
}

TEST(Failures, exit_codes_without_a_word_in_the_log) {
  EXPECT_EQ(of(137, {}, true, true).code, "oom");
  EXPECT_EQ(of(137, {}, true).code, "killed");
  EXPECT_EQ(of(143, {}).code, "killed");
  EXPECT_EQ(of(0, {}, true).code, "killed");
  EXPECT_EQ(of(134, {}, true).code, "crash");
  EXPECT_EQ(of(139, {}, true).code, "crash");
  EXPECT_THAT(of(139, {}, true).detail, HasSubstr("segmentation fault"));
  EXPECT_EQ(of(126, {}).code, "image_error");
  EXPECT_EQ(of(127, {"/bin/sh: 1: exec: /usr/bin/llama-server: not found"}).code, "image_error");
  EXPECT_EQ(of(127, {"llama-server: error while loading shared libraries: libcuda.so.1: cannot open"}).code,
            "gpu_unavailable");
  EXPECT_EQ(of(1, {"Received second interrupt, terminating immediately."}, true).code, "killed");
  EXPECT_EQ(classify({}).code, "crash");
  EXPECT_EQ(classify({}).exit_code, std::nullopt);
}

TEST(Failures, F43_text_of_a_prompt_does_not_decide) {
  const std::vector<std::string> forged{
      "0.10.000.000 D srv  operator(): prompt: hello",
      "error: invalid argument: --no-such-flag",
      "CUDA error: out of memory",
      "0.10.000.001 D srv  operator(): CUDA error: out of memory",
      "0.10.000.002 I slot update_slots: error loading model: unknown model architecture: 'x'",
      "my secret question: Received second interrupt, terminating immediately."};
  const Failure failure = of(139, forged, true);
  EXPECT_EQ(failure.code, "crash");
  for (const std::string& line : failure.log_excerpt) EXPECT_THAT(line, Not(HasSubstr("secret")));
}

TEST(Failures, a_failed_load_after_an_earlier_one_is_told_by_its_own_words) {
  // A fit's trial load may run out of memory and go on; what ended the load is told by its own line.
  std::vector<std::string> lines{
      "0.00.000.001 E ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory"};
  for (const std::string& line : test::golden_log("truncated")) lines.push_back(line);
  EXPECT_EQ(of(1, lines).code, "model_truncated");
}

TEST(Failures, a_crash_shows_its_last_words) {
  const Failure failure = of(134,
                             {"0.01.000.000 E srv  x: earlier", "/src/ggml/src/ggml.c:42: GGML_ASSERT(a == b) failed",
                              "/usr/local/bin/llama-server(+0x18f0a4b)[0x55c0d50c0a4b]", "0.02.000.000 I srv  y: fine"},
                             true);
  EXPECT_EQ(failure.code, "crash");
  EXPECT_THAT(failure.detail, HasSubstr("GGML_ASSERT"));
  EXPECT_THAT(failure.log_excerpt, testing::ElementsAre(HasSubstr("earlier"), HasSubstr("GGML_ASSERT")));
}

TEST(Failures, a_draft_on_the_wrong_gpu) {
  const std::string line =
      "/src/ggml/src/ggml-backend.cpp:930: pre-allocated tensor (output.weight) in a buffer (CUDA7) that cannot run "
      "the "
      "operation (NONE)";
  EXPECT_EQ(of(134, {line}).code, "draft_device");
  EXPECT_EQ(of(134, {line}, true).code, "draft_device");
}

TEST(Failures, F49_the_excerpt_is_bounded_and_printable) {
  std::vector<std::string> lines{"0.00.000.001 E x: couldn't bind HTTP server socket, \x1b[31mport\xff"};
  for (int i = 0; i < 50; ++i) lines.push_back("0.00.000.002 W " + std::string(3000, 'w') + "\xC3\xA9");
  const Failure failure = of(1, lines);
  EXPECT_EQ(failure.code, "port_in_use");
  ASSERT_EQ(failure.log_excerpt.size(), 20U);
  EXPECT_EQ(failure.log_excerpt.front(), "0.00.000.001 E x: couldn't bind HTTP server socket, port\xEF\xBF\xBD");
  for (const std::string& line : failure.log_excerpt) EXPECT_LE(line.size(), 510U);
}

TEST(Failures, without_trouble_the_excerpt_is_the_end_of_the_log) {
  std::vector<std::string> lines;
  for (int i = 0; i < 30; ++i) lines.push_back("0.00.000.001 I x: line " + std::to_string(i));
  const Failure failure = of(137, lines);
  ASSERT_EQ(failure.log_excerpt.size(), 20U);
  EXPECT_THAT(failure.log_excerpt.back(), HasSubstr("line 29"));
}

TEST(Failures, load_stalled) {
  const Failure failure = load_stalled("batch", 7, seconds(600), std::vector<std::string>(50, "0.00.000.001 I x: y"));
  EXPECT_EQ(failure.code, "load_stalled");
  EXPECT_EQ(failure.profile, "batch");
  EXPECT_EQ(failure.attempt, 7U);
  EXPECT_TRUE(failure.retryable);
  EXPECT_THAT(failure.detail, HasSubstr("10 min"));
  EXPECT_EQ(failure.log_excerpt.size(), 20U);
}

TEST(Failures, the_catalogue_is_whole) {
  for (const char* code : {"model_missing",
                           "model_corrupt",
                           "model_truncated",
                           "shard_missing",
                           "not_first_shard",
                           "unknown_architecture",
                           "bad_argument",
                           "unknown_flag",
                           "port_in_use",
                           "cache_type_unsupported",
                           "cache_types_differ",
                           "cuda_out_of_memory",
                           "cuda_out_of_memory_on_request",
                           "fit_given_up",
                           "draft_device",
                           "mmproj_mismatch",
                           "gpu_unavailable",
                           "oom",
                           "killed",
                           "crash",
                           "load_stalled",
                           "image_error",
                           "docker_restart",
                           "removed_externally"}) {
    const auto failure = catalogued(code);
    ASSERT_TRUE(failure) << code;
    EXPECT_FALSE(failure->title.empty() || failure->advice.empty()) << code;
  }
  EXPECT_FALSE(catalogued("no_such_failure"));
}

}  // namespace
}  // namespace k3d::engine
