// The engine's own dry run: what it is asked, and what it answers.
#include "daemon/engine/fit_params.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine/inputs.hpp"

namespace k3d::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Strings = std::vector<std::string>;

TEST(FitParams, is_asked_what_decides_memory) {
  const auto argv = command_line(test::inputs());
  ASSERT_TRUE(argv);
  EXPECT_THAT(fit_params_arguments(*argv),
              ElementsAre("--model", "/models/UD-Q2_K_XL/Kimi-K3-UD-Q2_K_XL-00001-of-00019.gguf", "--ctx-size", "65536",
                          "--parallel", "8", "--batch-size", "2048", "--ubatch-size", "2048", "--threads", "64",
                          "--cache-type-k", "f16", "--cache-type-v", "f16", "--split-mode", "layer", "--fit", "on",
                          "--fit-target", "4096"));
  EXPECT_TRUE(asks_for_fit(*argv));
  EXPECT_FALSE(asks_for_fit({"--fit", "off"}));
  EXPECT_FALSE(asks_for_fit({"--fit"}));
}

TEST(FitParams, the_placement_that_it_found_takes_the_fits_place) {
  const Strings fitted = fitted_arguments(R"(-c 65536 -ngl 94 -ts 21,73 -ot "blk\.20\.ffn_(up|down).*=CUDA1,b c=CPU")");
  EXPECT_THAT(fitted, ElementsAre("-c", "65536", "-ngl", "94", "-ts", "21,73", "-ot", R"(blk\.20\.ffn_(up|down).*=CUDA1,b c=CPU)"));
  EXPECT_THAT(with_fitted({"-m", "x", "-c", "65536", "--fit", "on", "--fit-target", "4096"}, fitted),
              ElementsAre("-m", "x", "-c", "65536", "-ngl", "94", "-ts", "21,73", "-ot", R"(blk\.20\.ffn_(up|down).*=CUDA1,b c=CPU)"));
}

TEST(FitParams, an_answer_that_is_none_changes_nothing) {
  for (const char* answer : {"", "done", "-ngl", "error: -ngl 94", "-c 1 -ngl"}) {
    EXPECT_THAT(fitted_arguments(answer), IsEmpty()) << answer;
  }
}

TEST(FitParams, its_figures_by_device) {
  const auto figures = fit_params_figures({"CUDA0 130503 771 5265 ", "noise", "CUDA1 131213 2729 2059", "Host 449511 0 176"});
  ASSERT_TRUE(figures);
  ASSERT_EQ(figures->devices.size(), 2U);
  EXPECT_EQ(figures->devices[0].model, 130503 * kMiB);
  EXPECT_EQ(figures->devices[1].compute, 2059 * kMiB);
  EXPECT_EQ(figures->host.model, 449511 * kMiB);
  EXPECT_EQ(fit_params_figures({"CUDA0 1 2 3"}), std::nullopt);
  EXPECT_EQ(fit_params_figures({"Host -1 0 0"}), std::nullopt);
  EXPECT_EQ(fit_params_figures({"Host 1e12 0 0"}), std::nullopt);
  EXPECT_EQ(fit_params_figures({}), std::nullopt);
}

}  // namespace
}  // namespace k3d::engine
