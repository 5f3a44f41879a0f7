// Log bytes to lines, levels and the ready line.
#include "daemon/engine/log_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine/golden.hpp"

namespace k3d::engine {
namespace {

using testing::ElementsAre;

constexpr const char* kReady = "2.37.488.480 I srv  llama_server: listening on http://127.0.0.1:18080";

bool ready(std::string_view line) {
  return is_ready_line(read_engine_line(line));
}

TEST(LogReader, F42_ready_line_split_over_frames) {
  const std::string whole = std::string("noise\n") + kReady + "\nmore";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    LineSplitter splitter;
    std::vector<std::string> lines = splitter.feed(std::string_view(whole).substr(0, cut));
    for (std::string& line : splitter.feed(std::string_view(whole).substr(cut))) lines.push_back(std::move(line));
    ASSERT_THAT(lines, ElementsAre("noise", kReady)) << cut;
    ASSERT_EQ(splitter.finish(), "more");
    ASSERT_FALSE(splitter.finish());
  }
}

TEST(LogReader, long_lines_are_cut_and_the_next_is_whole) {
  LineSplitter splitter(8);
  EXPECT_THAT(splitter.feed("0123456789\nab"), ElementsAre("01234567"));
  EXPECT_THAT(splitter.feed("cdefghijklm\n\nz\n"), ElementsAre("abcdefgh", "", "z"));
}

TEST(LogReader, F42_ready_after_colours_and_in_every_dialect) {
  EXPECT_TRUE(ready(kReady));
  EXPECT_TRUE(
      ready("\x1b[34m2.37.488.480 \x1b[0m\x1b[32mI \x1b[0msrv  llama_server: listening on unix:///run/e.sock\x1b[0m"));
  EXPECT_TRUE(ready("0.01.000.000 I main: server is listening on http://127.0.0.1:8080 - starting the main loop"));
  EXPECT_TRUE(ready(std::string(kReady) + "\r"));
}

TEST(LogReader, F43_ready_text_of_a_prompt_is_not_ready) {
  for (const char* line :
       {"llama_server: listening on http://evil", "0.01.000.000 D srv  operator(): prompt: listening on http://evil",
        "0.01.000.000 I slot update_slots: llama_server: listening on http://evil",
        "0.01.000.000 I srv  operator(): llama_server: listening on http://evil",
        "0.01.000.000 D srv  llama_server: listening on http://evil", "server is listening on http://x",
        "0.01.000.000 I srv  llama_server: model loaded", ""}) {
    EXPECT_FALSE(ready(line)) << line;
  }
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
