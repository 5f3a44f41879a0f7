// extra_args: at the end as they are, or refused.
#include "daemon/engine/extra_args.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine/inputs.hpp"

namespace k3d::engine {
namespace {

using Strings = std::vector<std::string>;

Result<Strings> with(const Strings& extra) {
  CommandInputs in = test::inputs();
  in.profile.extra_args = extra;
  return command_line(in);
}

TEST(ExtraArgs, come_last_and_unchanged) {
  for (const Strings& extra : {Strings{"--metrics"}, Strings{"--temp", "-1"}, Strings{"--top-k", "40", "--seed", "-1"},
                               Strings{"--control-vector-layer-range", "1", "2"},
                               Strings{"--chat-template-kwargs", R"({"a":"$(x) ; rm -rf /"})"}, Strings{"--top_k", "3"},
                               Strings{"--override-kv", "-odd"}}) {
    const auto argv = with(extra);
    ASSERT_TRUE(argv) << argv.error().text();
    EXPECT_EQ(Strings(argv->end() - static_cast<std::ptrdiff_t>(extra.size()), argv->end()), extra);
  }
}

TEST(ExtraArgs, F92_reserved_and_computed_flags_are_refused) {
  for (const char* flag : {"--host", "--api-key", "-m", "--model", "--ssl-key-file", "--path", "--rpc", "--api_key",
                           "--HOST", "-hf", "--fit", "--host=0.0.0.0", "--threads_batch"}) {
    const auto argv = with({flag, "x"});
    ASSERT_FALSE(argv) << flag;
    EXPECT_TRUE(argv.error().code == Code::start_refused || argv.error().code == Code::flag_missing) << flag;
    EXPECT_THAT(argv.error().message, testing::HasSubstr("extra_args")) << flag;
    EXPECT_FALSE(argv.error().hint.empty());
  }
}

TEST(ExtraArgs, F92_another_spelling_of_what_k3d_sets) {
  // None of these is reserved by its own name; the image's help says that each means a flag that k3d sets.
  for (const char* flag : {"--ui", "--webui", "--no-ui"}) {
    const auto argv = with({flag});
    ASSERT_FALSE(argv) << flag;
    EXPECT_EQ(argv.error().code, Code::start_refused);
    EXPECT_THAT(argv.error().hint, testing::HasSubstr("--no-webui"));
  }
  // A spelling that only this image has.
  CommandInputs in = test::inputs();
  in.capabilities.flags["--bind"] = {"--host", "--bind"};
  in.profile.extra_args = {"--bind", "0.0.0.0"};
  EXPECT_FALSE(command_line(in));
}

TEST(ExtraArgs, a_reserved_flag_does_not_get_by_as_a_value) {
  const auto argv = with({"--metrics", "--seed", "--host"});
  ASSERT_FALSE(argv);
  EXPECT_EQ(argv.error().code, Code::start_refused);
}

TEST(ExtraArgs, a_flag_that_the_image_lacks) {
  const auto argv = with({"--metrics", "--no-such-flag"});
  ASSERT_FALSE(argv);
  EXPECT_EQ(argv.error().code, Code::flag_missing);
  EXPECT_THAT(argv.error().message,
              testing::AllOf(testing::HasSubstr("--no-such-flag"), testing::HasSubstr("extra_args")));
}

}  // namespace
}  // namespace k3d::engine
