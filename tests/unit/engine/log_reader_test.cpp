// Log bytes to lines, and lines to levels and components.
#include "daemon/engine/log_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine/golden.hpp"

namespace k3d::engine {
namespace {

using testing::ElementsAre;

constexpr const char* kLast = "2.37.488.480 I srv  llama_server: listening on http://127.0.0.1:18080";

TEST(LogReader, F42_a_line_split_over_frames) {
  const std::string whole = std::string("noise\n") + kLast + "\nmore";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    LineSplitter splitter;
    std::vector<std::string> lines = splitter.feed(std::string_view(whole).substr(0, cut));
    for (std::string& line : splitter.feed(std::string_view(whole).substr(cut))) lines.push_back(std::move(line));
    ASSERT_THAT(lines, ElementsAre("noise", kLast)) << cut;
    ASSERT_EQ(splitter.finish(), "more");
    ASSERT_FALSE(splitter.finish());
  }
}

TEST(LogReader, long_lines_are_cut_and_the_next_is_whole) {
  LineSplitter splitter(8);
  EXPECT_THAT(splitter.feed("0123456789\nab"), ElementsAre("01234567"));
  EXPECT_THAT(splitter.feed("cdefghijklm\n\nz\n"), ElementsAre("abcdefgh", "", "z"));
}

TEST(LogReader, levels_and_components) {
  EngineLine line = read_engine_line("0.54.695.198 E llama_model_load_from_file_impl: failed to load model");
  EXPECT_EQ(line.level, LineLevel::error);
  EXPECT_EQ(line.component, "");
  EXPECT_EQ(line.text, "llama_model_load_from_file_impl: failed to load model");
  line = read_engine_line("0.54.695.203 E cmn  common_init_: failed");
  EXPECT_EQ(line.component, "cmn");
  EXPECT_EQ(line.text, "common_init_: failed");
  EXPECT_EQ(read_engine_line("E srv  llama_server: exiting due to model loading error").level, LineLevel::error);
  EXPECT_EQ(read_engine_line("1.2.3 E x").level, LineLevel::bare);
  EXPECT_EQ(read_engine_line("I am a prompt").level, LineLevel::bare);
  EXPECT_EQ(read_engine_line("/src/ggml-cuda.cu:106: CUDA error").level, LineLevel::bare);
  line = read_engine_line("\x1b[34m2.37.488.480 \x1b[0m\x1b[32mI \x1b[0msrv  llama_server: model loaded\x1b[0m\r");
  EXPECT_EQ(line.level, LineLevel::info);
  EXPECT_EQ(line.component, "srv");
  EXPECT_EQ(line.text, "llama_server: model loaded");
  EXPECT_EQ(read_engine_line("0.00.084.764 W srv  llama_server: security").level, LineLevel::warning);
}

TEST(LogReader, a_real_load_has_no_line_that_is_not_understood) {
  for (const std::string& raw : test::golden_log("cuda-oom-at-load")) {
    EXPECT_NE(read_engine_line(raw).level, LineLevel::bare) << raw;
  }
}

TEST(LogReader, F49_bytes_are_made_printable) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(printable("plain \xC3\xA9 \xF0\x9F\x98\x80"), "plain \xC3\xA9 \xF0\x9F\x98\x80");
  EXPECT_EQ(printable("a\x1b[31;1mred\x1b[0mb"), "aredb");
  EXPECT_EQ(printable("\x1b]0;title\x07x\x1b]8;;http://e\x1b\\y"), "xy");
  EXPECT_EQ(printable("cut\x1b"), "cut");
  EXPECT_EQ(printable("cut\x1b[31"), "cut");
  EXPECT_EQ(printable("a\tb\r"), "a b");
  EXPECT_EQ(printable(std::string_view("n\0l", 3)), "n" + bad + "l");
  EXPECT_EQ(printable("\xFF\xC0\xAF"), bad + bad + bad);
  EXPECT_EQ(printable("\xED\xA0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // past U+10FFFF
  EXPECT_EQ(printable("\xE2\x82"), bad + bad);
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            bad + "31m");  // C1's CSI
}

}  // namespace
}  // namespace k3d::engine
