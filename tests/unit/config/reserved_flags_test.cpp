// Flags that nobody may give by hand (daemon/model), as extra_args refuses them.
#include "daemon/model/reserved_flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace k3d {
namespace {

TEST(ReservedFlags, F92_computed_and_dangerous_flags) {
  for (const char* flag : {"-m",
                           "--model",
                           "-mu",
                           "--model-url",
                           "-hf",
                           "-hfr",
                           "--hf-repo",
                           "--host",
                           "--port",
                           "--reuse-port",
                           "--api-key",
                           "--api-key-file",
                           "--api-prefix",
                           "--path",
                           "--ssl-key-file",
                           "--rpc",
                           "-a",
                           "--alias",
                           "-c",
                           "--ctx-size",
                           "-np",
                           "--parallel",
                           "-b",
                           "--batch-size",
                           "-ub",
                           "--ubatch-size",
                           "-t",
                           "--threads",
                           "-tb",
                           "--threads-batch",
                           "-ngl",
                           "--gpu-layers",
                           "--n-gpu-layers",
                           "-ts",
                           "--tensor-split",
                           "-ot",
                           "--override-tensor",
                           "-cmoe",
                           "--cpu-moe",
                           "-ncmoe",
                           "--n-cpu-moe",
                           "-fit",
                           "--fit",
                           "-fitt",
                           "--fit-target",
                           "-fitc",
                           "--fit-ctx",
                           "-ctk",
                           "-ctv",
                           "--cache-type-k",
                           "--cache-type-v",
                           "--cache-ram",
                           "-cram",
                           "--ctx-checkpoints",
                           "--swa-checkpoints",
                           "--mmproj",
                           "--mmproj-url",
                           "-sm",
                           "--split-mode",
                           "--numa",
                           "--load-mode",
                           "--mlock",
                           "--no-mmap",
                           "--mmap",
                           "--jinja",
                           "--no-jinja",
                           "--log-file",
                           "--log-jsonl",
                           "--log-disable",
                           "-lv",
                           "--verbosity",
                           "--log-verbosity",
                           "--log-colors",
                           "--models-dir",
                           "--models-preset",
                           "--sleep-idle-seconds",
                           "-md",
                           "--spec-draft-model",
                           "--spec-type",
                           "--slot-save-path",
                           "--lora",
                           "--lora-scaled",
                           "--tools",
                           "--webui-mcp-proxy",
                           "--agent",
                           "-h",
                           "--help",
                           "--version",
                           "-cl",
                           "--completion-bash",
                           "--list-devices",
                           "--gpt-oss-20b-default"}) {
    EXPECT_TRUE(reserved_flag_reason(flag)) << flag;
    EXPECT_TRUE(reserved_flag_reason(std::string(flag) + "=x")) << flag;
  }
  EXPECT_TRUE(reserved_flag_reason("--ctx_size"));  // llama-server reads it as --ctx-size
}

TEST(ReservedFlags, say_what_to_use) {
  EXPECT_EQ(reserved_flag_reason("--parallel=4"), "use slots");
  EXPECT_THAT(reserved_flag_reason("-ncmoe").value(), testing::HasSubstr("placement"));
}

TEST(ReservedFlags, others_pass) {
  for (const char* arg :
       {"--temp", "--top-p=0.9", "--metrics", "--slots", "--chat-template-file", "-1", "-", "--", "", "4096", "model",
        "--threads-http", "--sse-ping-interval", "--pathological", "--cache-reuse", "-tokens"}) {
    EXPECT_FALSE(reserved_flag_reason(arg)) << arg;
  }
}

}  // namespace
}  // namespace k3d
