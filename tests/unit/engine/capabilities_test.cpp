// llama-server's help, as real images print it.
#include "daemon/engine/capabilities.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine/golden.hpp"

namespace k3d::engine {
namespace {

using testing::ElementsAre;
using Strings = std::vector<std::string>;

TEST(Capabilities, every_spelling_of_an_option_of_a_real_help) {
  const EngineCapabilities image = test::debian();
  const Strings layers{"-ngl", "--gpu-layers", "--n-gpu-layers"};
  for (const std::string& spelling : layers) EXPECT_EQ(image.flags.at(spelling), layers) << spelling;
  EXPECT_THAT(image.flags.at("--webui"), ElementsAre("--ui", "--webui", "--no-ui", "--no-webui"));
  EXPECT_THAT(image.flags.at("-fit"), ElementsAre("-fit", "--fit"));
  EXPECT_THAT(image.flags.at("-nkvo"), ElementsAre("-kvo", "--kv-offload", "-nkvo", "--no-kv-offload"));
  for (const char* flag :
       {"-h", "--load-mode", "--fit-target", "--n-cpu-moe", "--ctx-checkpoints", "--log-jsonl", "-sm"}) {
    EXPECT_TRUE(image.has(flag)) << flag;
  }
  EXPECT_GT(image.flags.size(), 300U);
}

TEST(Capabilities, values_as_the_help_names_them) {
  const EngineCapabilities image = test::debian();
  EXPECT_EQ(image.values.at("--ctx-size"), "N");
  EXPECT_EQ(image.values.at("-c"), "N");
  EXPECT_EQ(image.values.at("--log-colors"), "[on|off|auto]");
  EXPECT_EQ(image.values.at("--split-mode"), "{none,layer,row,tensor}");
  EXPECT_EQ(image.values.at("-ot"), "<tensor name pattern>=<buffer type>,...");
  EXPECT_EQ(image.values.at("--control-vector-layer-range"), "START END");
  for (const char* flag : {"--jinja", "--kv-offload", "--no-webui", "-cmoe"})
    EXPECT_FALSE(image.values.contains(flag)) << flag;
}

TEST(Capabilities, continuation_lines_and_environment_are_no_options) {
  const EngineCapabilities image = test::debian();
  // Named in descriptions only: "Complements --cpu-mask", "see --list-devices", "(env: LLAMA_ARG_FIT)", "- none: …".
  for (const auto& [flag, spellings] : image.flags) {
    EXPECT_TRUE(flag.starts_with('-')) << flag;
    EXPECT_EQ(flag.find_first_of(" ,()<>[]:"), std::string::npos) << flag;
  }
  EXPECT_FALSE(image.has("-"));
  EXPECT_FALSE(image.has("--api_key"));
}

TEST(Capabilities, sockets_only_if_the_help_of_host_speaks_of_them) {
  EXPECT_TRUE(test::debian().unix_socket);
  EXPECT_TRUE(test::older().unix_socket);
  const EngineCapabilities image = parse_help(
      "-m,    --model FNAME    model path to load\n--host HOST    ip address to listen\n       (env: X)\n--port PORT   "
      "not a unix one\n");
  EXPECT_TRUE(image.has("--port"));
  EXPECT_FALSE(image.unix_socket);
}

TEST(Capabilities, an_older_dialect_lacks_what_it_lacks) {
  const EngineCapabilities image = test::older();
  for (const char* flag : {"--no-mmap", "--n-cpu-moe", "--jinja", "-np"}) EXPECT_TRUE(image.has(flag)) << flag;
  for (const char* flag : {"--fit", "--load-mode", "--log-jsonl", "--ctx-checkpoints"})
    EXPECT_FALSE(image.has(flag)) << flag;
  EXPECT_FALSE(image.values.contains("--log-colors"));
}

TEST(Capabilities, other_programs_have_none) {
  for (const char* text : {"", "exec: no such file", "Usage: ls [OPTION]...\n-a, --all   do not ignore entries\n",
                           "--model\n", "-\n--\n---\n-,\n--host\n"}) {
    EXPECT_TRUE(parse_help(text).flags.empty()) << text;
  }
}

TEST(Capabilities, json_round_trip) {
  EngineCapabilities image = test::debian();
  image.image_id = "sha256:0123";
  image.has_shell = true;
  image.version = "0.7.0";
  const Result<EngineCapabilities> back = capabilities_from_json(capabilities_to_json(image));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->flags, image.flags);
  EXPECT_EQ(back->values, image.values);
  EXPECT_EQ(back->image_id, image.image_id);
  EXPECT_TRUE(back->has_shell && back->unix_socket);
  EXPECT_EQ(back->version, "0.7.0");
}

TEST(Capabilities, json_of_something_else_is_refused) {
  const std::string head = R"({"image_id":"a","has_shell":true,"unix_socket":true,)";
  for (const std::string& text : std::vector<std::string>{
           "", "{", "[]", "{}", R"({"image_id":1,"has_shell":true,"unix_socket":true,"flags":{},"values":{}})",
           head + R"("flags":[],"values":{}})", head + R"("flags":{},"options":[]})",
           head + R"("flags":{"-m":"-m"},"values":{}})", head + R"("flags":{"-m":[1]},"values":{}})",
           head + R"("flags":{},"values":{"-m":null}})"}) {
    const auto parsed = capabilities_from_json(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::protocol);
  }
}

}  // namespace
}  // namespace k3d::engine
