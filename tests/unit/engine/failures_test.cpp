// The catalogue, on what real engines wrote before they ended.
#include "daemon/engine/failures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/engine/failure_kinds.hpp"
#include "daemon/engine/failure_signs.hpp"
#include "tests/unit/engine/golden.hpp"

namespace k3d::engine {
namespace {

using testing::HasSubstr;
using testing::Not;

Failure of(int exit_code, std::vector<std::string> lines, bool ready = false, bool oom = false) {
  return classify({exit_code, oom, false, false, ready, std::move(lines)});
}

/// One line, at the end of a load that failed.
std::string code_of(const std::string& line, bool ready = false) {
  return of(ready ? 134 : 1, {line}, ready).code;
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
                    Real{"environment", 1, false, "cache_type_unsupported", "LLAMA_ARG_CACHE_TYPE_K"},
                    Real{"assertion", 134, false, "crash", "GGML_ASSERT(n_expert_used_max > 0) failed"},
                    Real{"unknown-flag", 1, false, "unknown_flag", "--no-such-flag"},
                    Real{"bad-value", 1, false, "bad_argument", "--ctx-size"},
                    Real{"cache-type", 1, false, "cache_type_unsupported", "zzz"},
                    Real{"cache-types-differ", 1, false, "cache_types_differ", "K (q8_0) and V (f16)"},
                    Real{"device", 1, false, "gpu_unavailable", "CUDA9"},
                    Real{"flash-attention-off", 1, false, "cache_type_unsupported", "requires flash_attn"},
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
  EXPECT_EQ(of(137, {}, true).code, "killed");
  EXPECT_EQ(of(143, {}).code, "killed");
  EXPECT_EQ(of(0, {}, true).code, "killed");
  for (const int code : {132, 134, 135, 136, 139}) {
    EXPECT_EQ(of(code, {}, true).code, "crash") << code;
    EXPECT_EQ(of(code, {}).code, "crash") << code;
    EXPECT_TRUE(of(code, {}).retryable) << code;
  }
  EXPECT_THAT(of(139, {}, true).detail, HasSubstr("segmentation fault"));
  EXPECT_THAT(of(132, {}).advice, HasSubstr("another CPU"));
  EXPECT_THAT(of(135, {}).advice, HasSubstr("disk errors"));
  EXPECT_EQ(of(126, {}).code, "image_error");
  EXPECT_EQ(of(127, {"/bin/sh: 1: exec: /usr/bin/llama-server: not found"}).code, "image_error");
  EXPECT_EQ(of(127, {"llama-server: error while loading shared libraries: libcuda.so.1: cannot open"}).code,
            "gpu_unavailable");
  EXPECT_EQ(of(1, {"Received second interrupt, terminating immediately."}, true).code, "killed");
  EXPECT_EQ(of(1, {}).code, "crash");
  EXPECT_EQ(of(255, {}).code, "crash");
  EXPECT_EQ(classify({}).code, "crash");
  EXPECT_EQ(classify({}).exit_code, std::nullopt);
  EXPECT_THAT(classify({}).detail, HasSubstr("nobody knows"));
}

TEST(Failures, F32_dockers_oom_flag_counts_only_with_the_kernels_signal) {
  EXPECT_EQ(of(137, {}, true, true).code, "oom");
  EXPECT_FALSE(of(137, {}, true, true).retryable);
  EXPECT_EQ(classify({std::nullopt, true, false, false, true, {}}).code, "oom");
  EXPECT_EQ(of(255, {}, true, true).code, "oom");
  // Another process of the container ran out of memory, and the engine ended otherwise.
  for (const auto& [exit_code, code] : {std::pair(3, "crash"), std::pair(139, "crash"), std::pair(0, "killed")}) {
    const Failure failure = of(exit_code, {}, true, true);
    EXPECT_EQ(failure.code, code) << exit_code;
    EXPECT_THAT(failure.detail, HasSubstr("a process of the container ran out of memory"));
  }
  EXPECT_EQ(of(1, test::golden_log("magic"), false, true).code, "model_corrupt");
}

TEST(Failures, F32_the_kernels_own_count_tells_what_dockers_flag_misses) {
  const auto counted = [](int exit_code, bool docker_restarted) {
    return classify({exit_code, false, docker_restarted, true, true, {}});
  };
  EXPECT_EQ(counted(137, false).code, "oom");
  EXPECT_THAT(counted(137, false).detail, HasSubstr("the kernel killed a process for want of memory"));
  EXPECT_EQ(counted(137, true).code, "docker_restart");
  EXPECT_EQ(counted(143, false).code, "killed") << "another process was killed for it";
  EXPECT_EQ(counted(139, false).code, "crash");
}

TEST(Failures, F32_sigkill_without_dockers_flag_may_still_be_the_hosts_memory) {
  const Failure failure = of(137, {}, true);
  EXPECT_EQ(failure.code, "killed");
  EXPECT_THAT(failure.advice, testing::AllOf(HasSubstr("ran out of memory"), HasSubstr("journalctl -k")));
  EXPECT_THAT(of(143, {}).advice, Not(HasSubstr("ran out of memory")));
}

TEST(Failures, F24_F25_an_end_while_docker_was_gone_is_dockers) {
  const auto gone = [](std::optional<int> exit_code, bool oom, std::vector<std::string> lines = {}) {
    return classify({exit_code, oom, true, false, true, std::move(lines)});
  };
  for (const std::optional<int> code :
       {std::optional(0), std::optional(137), std::optional(143), std::optional(255), std::optional<int>()}) {
    const Failure failure = gone(code, false);
    EXPECT_EQ(failure.code, "docker_restart") << code.value_or(-1);
    EXPECT_EQ(failure.exit_code, code);
    EXPECT_TRUE(failure.retryable);
    EXPECT_THAT(failure.advice, HasSubstr("live-restore"));
  }
  EXPECT_EQ(gone(137, true).code, "oom");
  // What ended by itself meanwhile says so by its exit code, or at least in its log.
  EXPECT_EQ(gone(139, false).code, "crash");
  EXPECT_EQ(gone(134, false, test::golden_log("cuda-oom-on-request")).code, "cuda_out_of_memory_on_request");
  EXPECT_EQ(gone(std::nullopt, false, test::golden_log("cuda-oom-on-request")).code, "cuda_out_of_memory_on_request");
  EXPECT_EQ(gone(255, false, {"/src/ggml/src/ggml.c:42: GGML_ASSERT(a == b) failed"}).code, "crash");
  EXPECT_EQ(gone(255, false, {"0.10.000.000 E srv  send_error: task id = 0, error: too long"}).code, "docker_restart");
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

TEST(Failures, a_crash_while_serving_is_not_told_by_an_old_error_of_a_request) {
  const std::vector<std::string> lines{"0.10.000.000 E srv  send_error: task id = 0, error: the prompt is too long"};
  EXPECT_THAT(of(139, lines, true).detail, HasSubstr("segmentation fault"));
  EXPECT_THAT(of(139, lines).detail, HasSubstr("send_error"));
}

TEST(Failures, an_exception_shows_what_it_said) {
  const std::vector<std::string> lines{"terminate called after throwing an instance of 'std::runtime_error'",
                                       "  what():  no such thing"};
  EXPECT_EQ(of(134, lines).code, "crash");
  EXPECT_THAT(of(134, lines).detail, HasSubstr("no such thing"));
  EXPECT_EQ(code_of("terminate called after throwing an instance of 'std::bad_alloc'"), "oom");
  EXPECT_EQ(code_of("terminate called after throwing an instance of 'std::bad_alloc'", true), "oom");
}

TEST(Failures, a_draft_on_the_wrong_gpu) {
  const std::string line =
      "/src/ggml/src/ggml-backend.cpp:930: pre-allocated tensor (output.weight) in a buffer (CUDA7) that cannot run "
      "the operation (NONE)";
  EXPECT_EQ(of(134, {line}).code, "draft_device");
  EXPECT_EQ(of(134, {line}, true).code, "draft_device");
}

// The words of CUDA and of the engine for what no machine without GPUs can show.
TEST(Failures, gpus_that_can_not_be_used) {
  for (const char* line : {"ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected",
                           "0.00.100.000 E ggml_cuda_init: failed to initialize CUDA: unknown error",
                           "0.00.100.000 E CUDA error: no CUDA-capable device is detected",
                           "0.00.100.000 E CUDA error: CUDA-capable device(s) is/are busy or unavailable",
                           "0.00.100.000 E CUDA error: no kernel image is available for execution on the device"}) {
    EXPECT_EQ(code_of(line), "gpu_unavailable") << line;
  }
  const auto advice = [](const std::string& line) { return of(1, {line}).advice; };
  EXPECT_THAT(advice("ggml_cuda_init: failed to initialize CUDA: system not yet initialized"),
              HasSubstr("nvidia-fabricmanager"));
  EXPECT_THAT(
      advice("ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version"),
      HasSubstr("driver"));
  EXPECT_EQ(code_of("0.00.1 E CUDA error: no kernel image is available for execution on the device"), "crash")
      << "no line of llama-server's";
}

TEST(Failures, gpus_that_are_lost_while_it_serves) {
  for (const char* line : {"1.58.201.726 E CUDA error: no CUDA-capable device is detected",
                           "1.58.201.726 E CUDA error: OS call failed or operation not supported on this OS",
                           "Failed to initialize NVML: Unknown Error", "1.58.201.726 E CUDA error: GPU is lost",
                           "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.",
                           "1.58.201.726 E CUDA error: uncorrectable ECC error encountered",
                           "1.58.201.726 E CUDA error: uncorrectable NVLink error detected during the execution",
                           "1.58.201.726 E CUDA error: unspecified launch failure"}) {
    EXPECT_EQ(code_of(line, true), "gpu_lost") << line;
    EXPECT_FALSE(of(134, {line}, true).retryable);
  }
  EXPECT_THAT(of(134, {"Failed to initialize NVML: Unknown Error"}, true).advice, HasSubstr("daemon-reload"));
  EXPECT_EQ(code_of("1.58.201.726 E CUDA error: an illegal memory access was encountered", true), "crash");
}

TEST(Failures, memory_that_ran_out_while_loading) {
  const std::string gone =
      "0.54.264.414 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5 MiB on device 0: "
      "cudaMalloc failed: out of memory";
  EXPECT_EQ(code_of(gone), "cuda_out_of_memory");
  EXPECT_EQ(code_of("0.54.264.428 E llama_x: unable to allocate CUDA0 buffer"), "cuda_out_of_memory");
  EXPECT_EQ(code_of("0.54.264.428 E ggml_x: failed to allocate CPU buffer of size 182129520128"), "oom");
  EXPECT_EQ(code_of("0.54.264.428 E ggml_x: failed to allocate CPU_REPACK buffer of size 182129520128"), "oom");
  EXPECT_EQ(code_of("0.54.264.428 E ggml_x: failed to allocate CUDA_Host buffer of size 182129520128"), "oom");
  // It tried again with less, so it was something else that ended it.
  const std::string again =
      "0.54.300.000 W llama_x: compute buffer allocation failed, retrying without pipeline "
      "parallelism";
  EXPECT_EQ(of(139, {gone, again}).code, "crash");
  EXPECT_EQ(of(1, {gone, again, gone}).code, "cuda_out_of_memory");
}

TEST(Failures, files_that_end_or_fail_while_they_are_read) {
  const std::string load = "0.10.000.000 E llama_model_load: error loading model: ";
  EXPECT_EQ(code_of(load + "unexpectedly reached end of file"), "model_truncated");
  EXPECT_EQ(code_of(load + "read error: Input/output error"), "model_corrupt");
  EXPECT_THAT(of(1, {load + "read error: Input/output error"}).advice, HasSubstr("disk"));
  EXPECT_EQ(code_of(load + "mmap failed: Cannot allocate memory"), "oom");
}

TEST(Failures, vision_files_of_another_model) {
  const std::string line =
      "0.01.404.467 E mtmd_init_from_file: error: mismatch between text model (n_embd = 7168) and "
      "mmproj (n_embd = 4096)";
  EXPECT_EQ(of(1, {line, "hint: you may be using wrong mmproj"}).code, "mmproj_mismatch");
  EXPECT_THAT(of(1, {line}).detail, HasSubstr("n_embd = 4096"));
}

TEST(Failures, words_of_the_engine_that_are_no_argument_of_k3d) {
  EXPECT_EQ(code_of("error while handling environment variable \"LLAMA_ARG_CACHE_TYPE_K\": Unsupported cache type: z"),
            "cache_type_unsupported");
  const Failure failure = of(1, {"error while handling environment variable \"LLAMA_ARG_CTX_SIZE\": stoi"});
  EXPECT_EQ(failure.code, "bad_argument");
  EXPECT_THAT(failure.advice, HasSubstr("environment"));
  EXPECT_EQ(code_of("0.00.077.756 E llama_init_from_model: quantized V cache requires flash_attn to be enabled"),
            "cache_type_unsupported");
  EXPECT_EQ(code_of("0.00.077.756 E llama_init_from_model: V cache quantization requires flash_attn"),
            "cache_type_unsupported");
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
  const std::vector<std::string> lines(50, "0.00.000.001 I x: y");
  const Failure failure = load_stalled("batch", 7, seconds(600), lines);
  EXPECT_EQ(failure.code, "load_stalled");
  EXPECT_EQ(failure.profile, "batch");
  EXPECT_EQ(failure.attempt, 7U);
  EXPECT_TRUE(failure.retryable);
  EXPECT_THAT(failure.detail, HasSubstr("10 min"));
  EXPECT_THAT(failure.advice, Not(HasSubstr("numa")));
  EXPECT_EQ(failure.log_excerpt.size(), 20U);
}

TEST(Failures, load_stalled_with_numa_balancing_on) {
  const Failure failure = load_stalled("batch", 7, seconds(600), {}, true);
  EXPECT_EQ(failure.code, "load_stalled");
  EXPECT_THAT(failure.detail, HasSubstr("numa_balancing"));
  EXPECT_THAT(failure.advice, HasSubstr("sysctl -w kernel.numa_balancing=0"));
}

TEST(Failures, codes_by_name) {
  for (const FailureKind& kind : failure_kinds()) {
    const auto failure = catalogued(kind.code);
    ASSERT_TRUE(failure) << kind.code;
    EXPECT_EQ(failure->code, kind.code);
    EXPECT_EQ(failure->retryable, kind.retryable);
    EXPECT_FALSE(failure->title.empty() || failure->advice.empty()) << kind.code;
  }
  EXPECT_FALSE(catalogued("no_such_failure"));
}

TEST(Failures, an_abort_behind_what_another_thread_had_begun_to_write_still_tells_its_reason) {
  Evidence evidence;
  evidence.exit_code = 134;
  evidence.lines = {"0.00.013 I load_tensors: ./src/llama-model.cpp:1417: GGML_ASSERT(n_expert_used_max > 0) failed"};
  const Failure failure = classify(evidence);
  EXPECT_EQ(failure.code, "crash");
  EXPECT_NE(failure.detail.find("GGML_ASSERT(n_expert_used_max > 0) failed"), std::string::npos) << failure.detail;
}

/// A line that shows `sign`, as the engine or a library writes it; bare ones without a prefix.
std::string line_of(const FailureSign& sign, bool bare) {
  if (sign.lines == Lines::abort) return "/src/ggml/src/ggml.c:42: boom";
  std::string text(sign.pattern);
  if (text.starts_with("CUDA*")) text = "ggml_cuda_init: failed to initialize CUDA" + text.substr(5);
  for (std::size_t at = text.find('*'); at != std::string::npos; at = text.find('*')) text.replace(at, 1, "7");
  if (sign.code == "draft_device") text = "/src/ggml/src/ggml-backend.cpp:930: " + text;
  if (!sign.also.empty()) text += " x " + std::string(sign.also);
  if (bare) return text + " the end";
  return "0.10.000.000 " + std::string(sign.lines == Lines::warning ? "W " : "E ") + text + " the end";
}

/// What a load that ends so is named.
Failure load_failure(const FailureSign& sign, const std::string& line) {
  std::vector<std::string> lines;
  if (sign.after_out_of_memory) lines.emplace_back("0.09.000.000 E ggml_x: cudaMalloc failed: out of memory");
  lines.push_back(line);
  return of(1, std::move(lines));
}

TEST(Failures, a_sign_behind_what_another_thread_had_begun_to_write_counts_like_one_on_a_line_of_its_own) {
  int tried = 0;
  for (const FailureSign& sign : failure_signs()) {
    // What arguments are refused with is written before anyone else writes.
    if (sign.moment == Moment::serving || sign.pattern.starts_with("error") || sign.pattern.starts_with("*error")) continue;
    for (const bool bare : {false, true}) {
      const bool alone = sign.lines == Lines::bare || sign.lines == Lines::abort;
      if (bare ? !alone && sign.lines != Lines::error_or_bare : alone) continue;
      const std::string line = line_of(sign, bare);
      const Failure whole = load_failure(sign, line);
      for (const char* half : {"0.00.013.456 I load_tensors: ", "0.00.013.456 D lo", "0.00.013.456 W x: y 3.14 ",
                               "0.00.013.456 E x: y: ", "load: half ", "12", "I half: 1 2 0.00.013.456 I another "}) {
        const Failure glued = load_failure(sign, half + line);
        EXPECT_EQ(glued.code, whole.code) << half << line;
        EXPECT_EQ(glued.advice, whole.advice) << half << line;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 300);
}

TEST(Failures, the_reason_is_told_without_the_half_line_before_it) {
  EXPECT_EQ(of(1, {"0.00.013.456 I load: 12 0.10.000.000 E llama_model_load: error loading model: mmap failed: Cannot "
                   "allocate memory"})
                .detail,
            "llama_model_load: error loading model: mmap failed: Cannot allocate memory");
}

TEST(Failures, F43_text_of_a_prompt_does_not_decide_as_a_glued_line_either) {
  for (const char* text : {"0.10.000.000 E CUDA error: out of memory", "GPU is lost", "/src/a.c:1: my secret question",
                           "Received second interrupt, terminating immediately"}) {
    const Failure failure = of(139, {"0.10.000.001 D srv  operator(): prompt: " + std::string(text)}, true);
    EXPECT_EQ(failure.code, "crash") << text;
    EXPECT_THAT(failure.detail, HasSubstr("segmentation fault")) << text;
  }
}

}  // namespace
}  // namespace k3d::engine
